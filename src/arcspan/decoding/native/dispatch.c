/* Facts about the library for native/__init__.py: the variants of the kernels that it holds and
   this processor runs, the best one first, and the names of the status codes. */

#include "common.h"

#define AS_WORD(name) " " #name

EXPORTED const char *status_names(void) { return &STATUS_CODES(AS_WORD)[1]; }

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
    if (!__get_cpuid(1, &a, &b, &c, &d)) return "baseline";
    /* Without OSXSAVE the instruction that reads the saved registers is illegal. */
    if (!(c & bit_OSXSAVE) || !(c & bit_AVX) || !(c & bit_FMA)) return "baseline";
    unsigned saved = saved_registers();
    if ((saved & 0x6) != 0x6) return "baseline";
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2)) return "baseline";
    unsigned avx512 = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
    if ((saved & 0xe6) != 0xe6 || (b & avx512) != avx512) return "avx2 baseline";
    return "avx512 avx2 baseline";
}
#else
EXPORTED const char *supported(void) { return "baseline"; }
#endif
