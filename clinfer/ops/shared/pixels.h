// Between the pixels of pictures INPUT0 [n, c, h, w].

// PIXEL_BETWEEN(result, input, batch, channel, y, x): result = the value at a place within the picture, from 0 to h - 1
// and from 0 to w - 1, interpolated between the four pixels around it.
#define PIXEL_BETWEEN(result, input, batch, channel, y, x) { \
    const index_t top_ = (index_t)(y), left_ = (index_t)(x); \
    const index_t bottom_ = min(top_ + 1, INPUT0_SIZE_Y - 1), right_ = min(left_ + 1, INPUT0_SIZE_X - 1); \
    const float down_ = (y) - top_, aside_ = (x) - left_; \
    const float upper_ = (1 - aside_) * PIXEL_(input, batch, channel, top_, left_) \
        + aside_ * PIXEL_(input, batch, channel, top_, right_); \
    const float lower_ = (1 - aside_) * PIXEL_(input, batch, channel, bottom_, left_) \
        + aside_ * PIXEL_(input, batch, channel, bottom_, right_); \
    result = (1 - down_) * upper_ + down_ * lower_; \
}
#define PIXEL_(input, batch, channel, y, x) ((float)INPUT0_LOAD(input, INPUT0_GET_INDEX(batch, channel, y, x)))
