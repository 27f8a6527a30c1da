/* Which variants of the kernels this library holds and this processor runs, the best one first. */

#include "common.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <cpuid.h>

/* The registers that the operating system saves: bits 1, 2 SSE and AVX, 5 to 7 AVX-512. */
static unsigned saved_registers(void) {
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

EXPORTED const char *supported(void) {
    unsigned a, b, c, d;
    bool saves = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE) && (c & bit_AVX) && (c & bit_FMA);
    unsigned saved = saves ? saved_registers() : 0;
    if ((saved & 0x6) != 0x6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2)) return "baseline";
    unsigned wide = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
    return (saved & 0xe6) == 0xe6 && (b & wide) == wide ? "avx512 avx2 baseline" : "avx2 baseline";
}
#else
EXPORTED const char *supported(void) { return "baseline"; }
#endif
