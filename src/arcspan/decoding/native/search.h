/* What the searches for the best tree share: their arguments, and whether scores are fit to be added up in a chart. */

typedef struct {
    batch batch;
    const number *span, *arc; /* [count, size, size], NULL for trees of the other kind alone */
    const number *headed;     /* [count, size, size, size], or packed [count, pairs, size]; NULL at first order */
    bool packed;
    place size;
    int64_t *heads;           /* out [count, size], zeros as they come */
    int64_t *rows;            /* out [., 2 or 3], the 2n-1 spans of each sentence one after the other */
    double *scores;           /* out [count] */
} search_work;

/* Where the rows of sentence b begin. */
static inline place first_row(const int64_t *lengths, int b) {
    place first = 0;
    for (int before = 0; before < b; before++) first += lengths[before] ? 2 * lengths[before] - 1 : 0;
    return first;
}

/* A sentence's tree has at most 3n - 1 scores, and second order 3n - 2 more; below this limit no sum of them overflows.
   NaN is not below it. */
static inline number limit_of(int n) {
    return (number)(sizeof(number) == 4 ? 3.4e38 : 1.7e308) / (number)(8 * n + 8);
}

static inline bool fit_spans(const number *span, place size, int n) {
    const number limit = limit_of(n);
    bool fit = true;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j <= n; j++) fit &= span[i * size + j] < limit;
    return fit;
}

static inline bool fit_arcs(const number *arc, place size, int n) {
    const number limit = limit_of(n);
    bool fit = true;
    for (int m = 1; m <= n; m++)
        for (int h = 0; h <= n; h++) fit &= h == m || arc[m * size + h] < limit;
    return fit;
}
