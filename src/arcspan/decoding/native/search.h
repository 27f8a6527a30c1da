/* Shared by the searches for the best tree: their arguments, and checks that scores can be added
   up in a chart. */

#ifndef ARCSPAN_SEARCH_H
#define ARCSPAN_SEARCH_H

#include "algebra.h"
#include "common.h"

typedef struct {
    batch batch;
    const num_t *span, *arc; /* [count, size, size], NULL for trees of the other kind alone */
    /* [count, size, size, size], or packed [count, pairs, size]; NULL at first order */
    const num_t *headed;
    bool packed;
    idx_t size;
    int64_t *heads;           /* out [count, size], zeros as they come */
    /* out [., 2 or 3], the 2n-1 spans of each sentence one after the other */
    int64_t *rows;
    double *scores;           /* out [count] */
} search_work;

/* The index of the first of the rows of sentence b. */
static inline idx_t first_row(const int64_t *lengths, int b) {
    idx_t first = 0;
    for (int before = 0; before < b; before++)
        first += lengths[before] ? 2 * lengths[before] - 1 : 0;
    return first;
}

/* A sentence's tree has at most 3n - 1 scores, and second order 3n - 2 more; below this limit no
   sum of them overflows. NaN is not below it. */
static inline num_t limit_of(int n) {
    return (num_t)(sizeof(num_t) == 4 ? 3.4e38 : 1.7e308) / (num_t)(8 * n + 8);
}

static inline bool fit_spans(const num_t *span, idx_t size, int n) {
    const num_t limit = limit_of(n);
    bool fit = true;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j <= n; j++) fit &= span[i * size + j] < limit;
    return fit;
}

static inline bool fit_arcs(const num_t *arc, idx_t size, int n) {
    const num_t limit = limit_of(n);
    bool fit = true;
    for (int m = 1; m <= n; m++)
        for (int h = 0; h <= n; h++) fit &= h == m || arc[m * size + h] < limit;
    return fit;
}

#endif
