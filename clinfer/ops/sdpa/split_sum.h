// An element of the result from what work-groups found of their shares of the keys (sdpa_split.cl).
//   PUT_TOGETHER(totals, sums, output, a, b, row, v)   stores it, which the macro FOUND_LOAD(to, p) reads a float for
// Several shares at a time are asked for, because each wait is as long as for one.
#define SHARES_AT_ONCE 8
#define PUT_TOGETHER(totals, sums, output, a, b, row, v) do { \
    const long first_ = (long)((a) * (OUTPUT0_SIZE_1 / GROUPS) + (b) / GROUPS) * ARG_SHARES * ROWS \
        + (b) % GROUPS * OUTPUT0_SIZE_2 + (row); \
    float highest_, sum_, total_ = 0; \
    BEGIN_ROW(highest_, sum_, a, b, row); \
    for (int share_ = 0; share_ < ARG_SHARES; share_ += SHARES_AT_ONCE) { \
        float tops_[SHARES_AT_ONCE], sums_[SHARES_AT_ONCE], totals_[SHARES_AT_ONCE]; \
        _Pragma("unroll") for (int n_ = 0; n_ < SHARES_AT_ONCE; ++n_) { \
            tops_[n_] = -INFINITY; \
            sums_[n_] = totals_[n_] = 0; \
            if (share_ + n_ >= ARG_SHARES) continue; \
            const long from_ = first_ + (long)(share_ + n_) * ROWS; \
            FOUND_LOAD(tops_[n_], (sums) + from_ * 2); \
            FOUND_LOAD(sums_[n_], (sums) + from_ * 2 + 1); \
            FOUND_LOAD(totals_[n_], (totals) + from_ * WIDTH + (v)); \
        } \
        float top_ = highest_; \
        _Pragma("unroll") for (int n_ = 0; n_ < SHARES_AT_ONCE; ++n_) top_ = fmax(top_, tops_[n_]); \
        const float base_ = top_ == -INFINITY ? 0 : top_, rescale_ = exp(highest_ - base_); \
        sum_ *= rescale_; \
        total_ *= rescale_; \
        _Pragma("unroll") for (int n_ = 0; n_ < SHARES_AT_ONCE; ++n_) { \
            const float own_ = exp(tops_[n_] - base_); \
            sum_ = fma(sums_[n_], own_, sum_); \
            total_ = fma(totals_[n_], own_, total_); \
        } \
        highest_ = top_; \
    } \
    OUTPUT0_STORE(output, OUTPUT0_GET_INDEX(a, b, row, v), sum_ > 0 ? total_ / sum_ : 0); \
} while (0)
