// Going through the last axes of INPUT0's view, which has KEPT_RANK others in front and the sizes SIZES; for the
// constants of `reference_constants` (reduction.py).
#ifndef KEPT_RANK
#define KEPT_RANK 3
#define SIZES {INPUT0_SIZE_0, INPUT0_SIZE_1, INPUT0_SIZE_2, INPUT0_SIZE_3, 1}
#endif

// Moves to the coordinates of the next element of the last axes; to the first again after the last.
void FUNC(step)(index_t* at, const index_t* sizes) {
    for (int axis = INPUT0_RANK - 1; axis >= KEPT_RANK; --axis) {
        if (++at[axis] < sizes[axis]) return;
        at[axis] = 0;
    }
}
