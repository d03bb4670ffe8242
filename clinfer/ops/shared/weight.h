// WEIGHT(T, x): e^x of a T (a float or double, or a vector of them) of 0 or less; 0 where that is below the normal
// numbers of single precision. Masks of -100 make such weights, and x86 processors take many times as long with them.
#define WEIGHT(T, x) exp((x) < (T)-87.3f ? (T)-INFINITY : (x))
