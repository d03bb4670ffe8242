// Where output coordinate c comes from on an axis of that size; -1: from outside.
INLINED index_t FUNC(source_of)(index_t c, index_t begin, index_t size) {
    const index_t at = c - begin;
    if (at >= 0 && at < size) return at;
#if MODE == 0
    return -1;
#elif MODE == 1
    return clamp(at, (index_t)0, size - 1);
#elif MODE == 2
    return at < 0 ? -at : 2 * (size - 1) - at;
#else
    return at < 0 ? -at - 1 : 2 * size - 1 - at;
#endif
}
