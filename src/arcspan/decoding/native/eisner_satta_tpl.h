/* Eisner & Satta (1999) over lexicalized trees, first and second order: O(n^4) time, half a cube of
memory. A template: see algebra.h.

One chart holds the whole search. x[i, j, h] is the value of span (i, j]: with h inside, the headed
span, the trees below it whose head word is h; with h outside, the hooked span, those trees once
their head word has been attached to h. For h in (i, j] exactly one part of a split contains h, so
one formula serves both directions:

    x[i, j, h] = s_c(i, j) (+ s(i, j, h)) + max over k of x[i, k, h] + x[k, j, h]         h inside
    x[i, j, h] = max over m in (i, j] of x[i, j, m] + s_d(m, h) (+ s(i, j, h))            h outside

Order. The row of spans that begin at i is computed from i = n-1 down to 0, in tiles of four spans
(i, j) with neighbouring ends j. When a tile is finished, its four spans are pushed at once as left
parts into every later span of the row. So four values sit in registers while j runs, and both
operands are read along contiguous memory; in order of width, with a mirrored triangle, two values
are read for each addition, here five for four.

Layout. Heads are grouped in blocks of LANES, and the chart is one plane for each block: in plane
h / LANES the spans (i, j), i < j only, follow each other row by row, LANES numbers each. A tile
ends before a multiple of four, so its ends lie in one block. Lanes that a span does not use yet
hold values that are never read: inside lanes are computed by blocks, and hooking then writes the
lanes outside. Lane 0, the root, is never hooked: the root arc is added once, to the sentence's
span. */

typedef struct {
    int n, blocks;
    idx_t stride;        /* numbers in a row of heads, whole blocks */
    idx_t plane;         /* numbers in a plane: all spans, one block */
    num_t *x;
    num_t *attach;       /* [m * stride + h], arcs' scores; rows padded */
    /* [4 * stride]: values of a tile's spans, h inside; NO_TREE for later words */
    num_t *inner;
    const num_t *span;   /* [i * size + j] */
    idx_t size;
    const num_t *headed; /* second-order scores, rows of `step` numbers; NULL at first order */
    const num_t *end;    /* the end of `headed`: nothing is read from here on */
    idx_t step;
    bool packed;
    /* [4 * stride]: copies of rows too near the end to read whole lanes from */
    num_t *tail;
} chart;

static inline chart new_chart(arena *memory, int n, bool second) {
    chart c = {.n = n, .blocks = n / LANES + 1};
    c.stride = (idx_t)LANES * c.blocks;
    c.plane = (idx_t)LANES * n * (n + 1) / 2;
    c.x = reserve(memory, c.plane * c.blocks, sizeof(num_t));
    c.attach = reserve(memory, (n + 1) * c.stride, sizeof(num_t));
    c.inner = reserve(memory, 4 * c.stride, sizeof(num_t));
    c.tail = reserve(memory, second ? 4 * c.stride : 0, sizeof(num_t));
    return c;
}

/* The index in a plane of the row of spans that begin at i: span (i, j) is LANES * j further. */
INLINED idx_t row_of(const chart *c, idx_t i) { return LANES * (i * c->n - i * (i + 1) / 2 - 1); }

/* The address of x[i, j, h]. */
static inline num_t *cell(const chart *c, int i, int j, int h) {
    return c->x + h / LANES * c->plane + row_of(c, i) + (idx_t)LANES * j + h % LANES;
}

/* The second-order scores of (i, j), in whole lanes. */
INLINED const num_t *seconds_of(const chart *c, int i, int j) {
    const num_t *row = c->headed + row_number(c->packed, c->size, i, j) * c->step;
    if (c->end - row >= c->stride) return row;
    return memcpy(c->tail + (j & 3) * c->stride, row, (size_t)(c->n + 1) * sizeof(num_t));
}

/* The end of span t of a tile, whose ends are `first` to `last`: if there are fewer than four,
   the last one again. */
INLINED int end_of(int first, int last, int t) { return smaller_int(first + t, last); }

/* Finish the headed span (i, j), all heads, from what was pushed (its splits before the tile)
   and the splits within the tile; then hook it to the heads of the block of its end. */
INLINED void finish(const chart *c, int i, int first, int j, const bool second) {
    const int end_block = j / LANES;
    const idx_t row = row_of(c, i);
    const num_t *scores = second ? seconds_of(c, i, j) : NULL;
    num_t *inner = c->inner + (j - first) * c->stride;
    const lanes nothing = splat(NO_TREE);
    const lanes score = splat(c->span[i * c->size + j]);
    lanes value = nothing;
    /* x[i, j, h] = s_c(i, j) (+ s(i, j, h)) + max over k of x[i, k, h] + x[k, j, h], h inside */
    for (int block = (i + 1) / LANES; block <= end_block; block++) {
        num_t *base = c->x + block * c->plane;
        num_t *target = base + row + (idx_t)LANES * j;
        /* A span of one word has no split; in the first tile of a row nothing was pushed yet. */
        value = j == i + 1 ? splat(UNIT) : first == i + 1 ? nothing : load(target);
        for (int k = first; k < j; k++)
            value = combine(value, load(base + row + LANES * k),
                            load(base + row_of(c, k) + LANES * j));
        value = extend(value, score);
        if (second) value = extend(value, load(scores + LANES * block));
        store(target, value);
        /* Words after j, in its block, are no heads of the span. */
        lanes heads = value;
        if (block == end_block) heads = between(LANES * block, i + 1, j + 1, value, nothing);
        store(inner + LANES * block, heads);
    }
    /* x[i, j, h] = max over m in (i, j] of x[i, j, m] + s_d(m, h) (+ s(i, j, h)), h outside.
       In two strands, so that a step need not wait for the one before it. */
    lanes hooked = nothing;
    lanes odd = nothing;
    const num_t *arc = c->attach + LANES * end_block + (i + 1) * c->stride;
    const idx_t stride = c->stride;
    int m = i + 1;
    for (; m < j; m += 2, arc += 2 * stride) {
        hooked = combine(hooked, splat(inner[m]), load(arc));
        odd = combine(odd, splat(inner[m + 1]), load(arc + stride));
    }
    if (m == j) odd = combine(odd, splat(inner[m]), load(arc));
    hooked = merge(hooked, odd);
    if (second) hooked = extend(hooked, load(scores + LANES * end_block));
    store(c->x + end_block * c->plane + row + LANES * j,
          between(LANES * end_block, i + 1, j + 1, value, hooked));
}

/* Write the hooked values of (i, j) in one block; lanes inside the span, in the block of i, stay
   as they are. */
INLINED void store_hooked(const chart *c, int i, int j, int block, lanes value,
                          const num_t *scores) {
    num_t *target = c->x + block * c->plane + row_of(c, i) + (idx_t)LANES * j;
    if (scores) value = extend(value, load(scores + LANES * block));
    /* Words after i in a block before that of j are inside. */
    if (block < j / LANES) value = between(LANES * block, i + 1, c->n + 1, load(target), value);
    store(target, value);
}

/* Hook the spans of a tile to the words of every block but the one that holds their ends: always
   four at once; if there are fewer spans, the other values are dropped.

    x[i, j, h] = max over m in (i, j] of x[i, j, m] + s_d(m, h) (+ s(i, j, h)), h outside */
INLINED void hook(const chart *c, int i, int first, int last, const bool second) {
    const idx_t stride = c->stride;
    const int end_block = first / LANES;
    const num_t *inner[4], *scores[4];
    lanes value[4];
    for (int t = 0; t < 4; t++) {
        inner[t] = c->inner + t * stride;
        scores[t] = second ? seconds_of(c, i, end_of(first, last, t)) : NULL;
    }
    /* Blocks with a word at or before i, then blocks with a word after the tile. */
    const int before = i > 0 ? smaller_int(i / LANES + 1, end_block) : 0;
    for (int block = 0; block < c->blocks; block++) {
        if (block >= before && block <= end_block) continue;
        const num_t *arcs = c->attach + LANES * block;
        for (int t = 0; t < 4; t++) value[t] = splat(NO_TREE);
        for (int m = i + 1; m <= last; m++) {
            const lanes arc = load(arcs + m * stride);
            for (int t = 0; t < 4; t++) value[t] = combine(value[t], arc, splat(inner[t][m]));
        }
        for (int t = 0; t < 4 && first + t <= last; t++)
            store_hooked(c, i, first + t, block, value[t], scores[t]);
    }
}

/* Combine x[i, j] with x[i, k] + x[k, j] for the spans (i, k) of a finished tile and every j after
   it:

    x[i, j, h] = max of x[i, j, h] and, over the k of the tile, x[i, k, h] + x[k, j, h] */
INLINED void push(const chart *c, int i, int first, int last) {
    const idx_t row = row_of(c, i);
    idx_t rows[4];
    lanes left[4];
    for (int t = 0; t < 4; t++) rows[t] = row_of(c, end_of(first, last, t));
    for (int block = (i + 1) / LANES; block < c->blocks; block++) {
        num_t *base = c->x + block * c->plane;
        /* A tile of fewer than four spans is filled up with spans without trees. */
        for (int t = 0; t < 4; t++) {
            const bool exists = first + t <= last;
            left[t] = exists ? load(base + row + LANES * (first + t)) : splat(NO_TREE);
        }
        for (int j = larger_int(last + 1, LANES * block); j <= c->n; j++) {
            num_t *at = base + (idx_t)LANES * j;
            lanes value = first > i + 1 ? load(at + row) : splat(NO_TREE);
            for (int t = 0; t < 4; t++) value = combine(value, left[t], load(at + rows[t]));
            store(at + row, value);
        }
    }
}

/* Fill the row of spans that begin at i, once all later rows are filled. */
INLINED void inside_row(const chart *c, int i, const bool second) {
    for (int first = i + 1, last; first <= c->n; first = last + 1) {
        /* Tiles end before multiples of four. */
        last = smaller_int(first | 3, c->n);
        for (int j = first; j <= last; j++) finish(c, i, first, j, second);
        hook(c, i, first, last, second);
        if (last < c->n) push(c, i, first, last);
    }
}

static inline void inside(const chart *c, int i) {
    /* A copy, which no store through a pointer can change: its fields stay in registers. The two
       calls make two functions, without branches on the order. */
    const chart local = *c;
    if (local.headed)
        inside_row(&local, i, true);
    else
        inside_row(&local, i, false);
}

/* The word of (i, j] that attaches to h: the best (the first of equals), or one drawn by chance;
   0 if none can. */
static inline int modifier_of(const chart *c, int i, int j, const num_t *arc, idx_t step,
                              const double **random, num_t *weights) {
    for (int m = i + 1; m <= j; m++)
        weights[m - i - 1] = extend_one(*cell(c, i, j, m), arc[m * step]);
    const int index = choose(weights, j - i, random);
    return index < 0 ? 0 : i + 1 + index;
}

/* Trace the best tree, or one drawn by chance, back through the values: heads[1..n], and rows
   (i, j, head) in pre-order. False if there is none. root[m * step] is the root arc's score;
   `stack` holds 3n numbers. */
static inline bool trace(const chart *c, const num_t *root, idx_t step, const double *random,
                         num_t *weights, int *stack, int64_t *heads, int64_t *rows) {
    const int first = modifier_of(c, 0, c->n, root, step, &random, weights);
    int top = 3;
    if (first == 0) return false;
    heads[first] = 0;
    stack[0] = 0;
    stack[1] = c->n;
    stack[2] = first;
    while (top > 0) {
        const int h = stack[--top];
        const int j = stack[--top];
        const int i = stack[--top];
        *rows++ = i;
        *rows++ = j;
        *rows++ = h;
        if (j == i + 1) continue;
        const num_t *left = cell(c, i, i + 1, h);
        const num_t *right = cell(c, i + 1, j, h);
        for (int k = i + 1; k < j; k++) {
            weights[k - i - 1] = extend_one(*left, *right);
            left += LANES;
            right += LANES * (c->n - k - 1); /* to row k + 1 */
        }
        const int k = i + 1 + larger_int(choose(weights, j - i - 1, &random), 0);
        const int low = h <= k ? k : i;
        const int high = h <= k ? j : k;
        const int m = modifier_of(c, low, high, c->attach + h, c->stride, &random, weights);
        heads[m] = h;
        /* The left part on top: pre-order. */
        stack[top++] = k;
        stack[top++] = j;
        stack[top++] = h > k ? h : m;
        stack[top++] = i;
        stack[top++] = k;
        stack[top++] = h <= k ? h : m;
    }
    return true;
}

#if ALGEBRA != SUMS
/* Copy attach[m, h] = s_d(m, h), rows padded to whole blocks; return whether all are below the
   limit. */
static bool copy_arcs(const chart *c, const num_t *arc, num_t limit) {
    const num_t *end = arc + c->size * c->size;
    marks bad = {0};
    for (int m = 1; m <= c->n; m++) {
        const num_t *from = arc + m * c->size;
        num_t *row = c->attach + m * c->stride;
        if (end - from < c->stride) from = memcpy(row, from, (size_t)(c->n + 1) * sizeof(num_t));
        for (int h = 0; h < c->stride; h += LANES) {
            lanes value = between(h, m, m + 1, splat(0), load(from + h));
            value = between(h, 0, c->n + 1, value, splat(0));
            bad = mark_unless_below(bad, value, splat(limit));
            store(row + h, value);
        }
    }
    return !any_between(bad, 0, 0, LANES);
}

/* Whether the second-order scores of the spans that begin at i are all below the limit: those of
   words, not of lane 0. */
static bool fit_seconds(const chart *c, int i, num_t limit) {
    marks first = {0};
    marks middle = {0};
    marks last = {0};
    const int end = (c->blocks - 1) * LANES;
    for (int j = i + 1; j <= c->n; j++) {
        const num_t *row = seconds_of(c, i, j);
        first = mark_unless_below(first, load(row), splat(limit));
        for (int h = LANES; h < end; h += LANES)
            middle = mark_unless_below(middle, load(row + h), splat(limit));
        last = mark_unless_below(last, load(row + end), splat(limit));
    }
    return !any_between(first, 0, 1, c->n + 1) && !any_between(middle, 0, 0, LANES) &&
           !any_between(last, end, 1, c->n + 1);
}

/* Fill the chart; false if a score is NaN, or so large that sums may overflow. */
static bool search(const chart *c, const num_t *arc) {
    const num_t limit = limit_of(c->n);
    bool fit = copy_arcs(c, arc, limit) && fit_spans(c->span, c->size, c->n);
    for (int i = c->n - 1; i >= 0 && fit; i--) {
        if (c->headed) fit = fit_seconds(c, i, limit);
        inside(c, i);
    }
    return fit;
}

/* Search one sentence. Runs twice: first to measure `memory`, then to compute. */
static int joint_sentence(batch *batch, int b, arena *memory) {
    const search_work *work = (const search_work *)batch;
    const int n = (int)batch->lengths[b];
    const idx_t size = work->size;
    const idx_t cells = work->packed ? size * (size - 1) / 2 * size : size * size * size;
    const num_t *arc = work->arc + b * size * size;
    int64_t *heads = work->heads + b * size;
    chart c = new_chart(memory, n, work->headed != NULL);
    num_t *weights = reserve(memory, n, sizeof *weights);
    int *stack = reserve(memory, 3 * (n + 1), sizeof *stack);
    if (!memory->base) return DONE;
    c.span = work->span + b * size * size;
    c.size = size;
    c.step = size;
    c.packed = work->packed;
    if (work->headed) {
        c.headed = work->headed + b * cells;
        c.end = work->headed + batch->count * cells;
    }
    if (!search(&c, arc)) return TOO_LARGE;
    int64_t *rows = work->rows + 3 * first_row(batch->lengths, b);
    if (!trace(&c, c.attach, c.stride, NULL, weights, stack, heads, rows)) return FORBIDDEN;
    /* The tree's score is added up anew, in double. Of the spans of a word in pre-order the
       first is its largest: the one that is hooked. `stack` counts the spans of each word now. */
    double score = 0.0;
    memset(stack, 0, (size_t)(n + 1) * sizeof *stack);
    for (int64_t *row = rows; row < rows + 3 * (2 * n - 1); row += 3) {
        const idx_t i = row[0];
        const idx_t j = row[1];
        const idx_t m = row[2];
        const idx_t h = heads[m];
        const num_t *seconds = c.headed ? c.headed + row_number(c.packed, size, i, j) * size : NULL;
        score += (double)c.span[i * size + j];
        if (seconds) score += (double)seconds[m];
        if (stack[m]++) continue;
        score += (double)arc[m * size + h];
        if (seconds && h) score += (double)seconds[h];
    }
    work->scores[b] = score;
    return DONE;
}
#endif
