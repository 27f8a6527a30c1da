/* All kernels of one variant. The searches are templates (algebra.h), here filled in for the best tree in float and in
double, for sums over trees, and for their logarithms; second derivatives follow. */

#include "common.h"

#define ALGEBRA BEST_FLOAT
#include "algebra.h"
#include "range.h"
#include "cky.c"
#include "eisner.c"
#include "eisner_satta.c"
#undef ALGEBRA

#define ALGEBRA BEST_DOUBLE
#include "algebra.h"
#include "range.h"
#include "cky.c"
#include "eisner.c"
#include "eisner_satta.c"
#include "kbest.c"
#include "naive.c"
#undef ALGEBRA

#define ALGEBRA SUMS
#include "algebra.h"
#include "cky.c"
#include "eisner.c"
#include "eisner_satta.c"
#include "scaling.c"
#include "outside.c"
#include "sums.c"
#undef ALGEBRA

#define ALGEBRA LOGS
#include "algebra.h"
#include "cky.c"
#include "eisner.c"
#include "eisner_satta.c"
#include "log_sums.c"
#include "hessian.c"
