/* All kernels of one variant and one algebra (algebra.h): the best tree in float or in double, or sums over trees. */

#include "common.h"
#include "algebra.h"
#if ALGEBRA != SUMS
#include "search.h"
#endif
#include "cky.c"
#include "eisner.c"
#include "eisner_satta.c"
#if ALGEBRA == SUMS
#include "scaling.c"
#include "outside.c"
#include "sums.c"
#include "logarithms.c"
#else
#if ALGEBRA == BEST_DOUBLE
#include "kbest.c"
#include "naive.c"
#endif

/* The best trees of a batch; decoding/batch.py numbers the algorithms in the same order. `search_work` says what the
   arrays are. */
EXPORTED int SEARCH(int algorithm, const number *span, const number *arc, const number *headed, int packed,
                    const int64_t *lengths, int64_t *heads, int64_t *rows, double *scores, int64_t *status,
                    const int *order, int count, int size, int threads) {
    int (*const sentences[])(batch *, int, room *) = {
        cky_sentence,
        eisner_sentence,
        joint_sentence,
#if ALGEBRA == BEST_DOUBLE
        naive_sentence,
#endif
    };
    search_work work = {{sentences[algorithm], lengths, status, count, threads, order, 0}, span, arc, headed, packed,
                        size, heads, rows, scores};
    return run_batch(&work.batch);
}
#endif
