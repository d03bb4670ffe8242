// What every kernel file includes first. The jitter has put the shared headers and the operand macros in
// front already; a file that is compiled alone gets the headers and default operands here.
#ifndef CLINFER_JIT
#include "vectors.cl"
#include "types.cl"
#include "math.cl"
#include "subgroup.cl"
#include "epilogue.cl"
#include "standalone.cl"
#include "standalone_more.cl"
#endif
