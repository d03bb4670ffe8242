// One pixel [n, y, x] of the output.

#define STORE_CHANNEL(value, n, y, x, c) { \
        const int at[] = {n, y, x, c}; \
        OUTPUT0_COMPUTE result = value; \
        FUSED_OPS(result, at) \
        OUTPUT0_STORE(output, OUTPUT0_INDEX_OF(at), result); \
    }
#define STORE_PIXEL(bright, u, v, n, y, x) { \
        float first, green, third; \
        FUNC(convert)(bright, u, v, &first, &green, &third); \
        STORE_CHANNEL(first, n, y, x, 0) \
        STORE_CHANNEL(green, n, y, x, 1) \
        STORE_CHANNEL(third, n, y, x, 2) \
    }
