/* The k best lexicalized trees, lazily: Huang & Chiang (2005), their third algorithm, over
Eisner-Satta's chart in double.

An item of the chart is a number: (i, j, h) headed for h inside (i, j], hooked for h outside, and
GOAL for the whole sentence. Its derivations are computed one after the other, best first, and only
on demand. A derivation of a headed item is a split with a derivation of each part; of a hooked item
or the goal, a modifier with a derivation of the headed item it is the head of.

Derivations and candidates are stored in one pool. Each item has a list of its derivations so far
(next) and a pairing heap of the candidates (child, sibling). The first candidates of an item are
all its splits with the best parts; these parts are called FIRST and looked up only if the candidate
wins, so that untouched items cost nothing. After a derivation is added to the list, its neighbours
become candidates: the next right part; and, while the right part is the first one, the next left
part. So each combination is reached once.

With `visible`, which marks the spans (i, j) of head h that the caller sees, two derivations of an
item that show the same spans and arcs are the same: only the better one is kept, at every item, so
that the number of unseen variants never multiplies up. What a derivation shows is identified by a
sum of 64-bit hashes: two are equal by chance once in 10^19. */

enum { GOAL = 0, LEFT = 0, RIGHT = 1 };
/* Special values of indices into the pool. */
enum { NONE = -1, FIRST = -2, LAST = -3, UNKNOWN = -4 };

typedef struct {
    double score;
    uint64_t shown;    /* the sum of the hashes of what the caller sees */
    int64_t item;
    int64_t part[2];   /* derivations of the parts, FIRST, or NONE */
    int64_t next;      /* the item's next derivation, UNKNOWN, or LAST if there is none */
    int64_t child, sibling;
    int choice;        /* the split, or the modifier */
} derivation;

typedef struct {
    int64_t heap, oldest, newest, last_taken;
} item;

typedef struct {
    chart c;
    int size;
    const unsigned char *visible; /* [item], for headed items, or NULL */
    derivation *pool;
    item *items;
    int32_t *touched;             /* [item]: its index in items, or NONE */
    int64_t *stack;
    int64_t used, capacity, items_used, items_capacity;
    bool failed;                  /* for want of memory: the search is over */
    void *memory;
} kbest;

static inline uint64_t hash(uint64_t value) {
    value += 0x9e3779b97f4a7c15;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

static inline int64_t item_number(const kbest *k, int i, int j, int h) {
    return ((int64_t)i * k->size + j) * k->size + h;
}

/* The score of a headed span, from the score below it and its own; and the score of attaching it
   to h, which is 0 for GOAL. Added up in the order of the chart, so that equal scores stay
   equal. */
static inline double with_span(const kbest *k, int i, int j, int h, double below) {
    const double score = below + k->c.span[i * k->c.size + j];
    return k->c.headed ? score + seconds_of(&k->c, i, j)[h] : score;
}

static inline double with_arc(const kbest *k, int i, int j, int m, int h, double below) {
    const double score = below + k->c.attach[m * k->c.stride + h];
    return k->c.headed && h ? score + seconds_of(&k->c, i, j)[h] : score;
}

/* Whether candidate a comes before b: the better one, of equals the one with the smaller choice,
   then the older one. */
static inline bool before(const derivation *pool, int64_t a, int64_t b) {
    if (pool[a].score != pool[b].score) return pool[a].score > pool[b].score;
    if (pool[a].choice != pool[b].choice) return pool[a].choice < pool[b].choice;
    return a < b;
}

/* Join two pairing heaps. */
static int64_t meld(derivation *pool, int64_t a, int64_t b) {
    if (a == NONE || b == NONE) return a == NONE ? b : a;
    const int64_t winner = before(pool, b, a) ? b : a;
    const int64_t loser = winner == a ? b : a;
    pool[loser].sibling = pool[winner].child;
    pool[winner].child = loser;
    return winner;
}

/* Remove the first candidate of a pairing heap: its children are melded in pairs, then the pairs
   from the last on. */
static int64_t without_root(derivation *pool, int64_t root) {
    int64_t pairs = NONE;
    int64_t merged = NONE;
    for (int64_t child = pool[root].child,
         following_child; child != NONE; child = following_child) {
        const int64_t other = pool[child].sibling;
        following_child = other == NONE ? NONE : pool[other].sibling;
        pool[child].sibling = NONE;
        if (other != NONE) pool[other].sibling = NONE;
        const int64_t pair = meld(pool, child, other);
        pool[pair].sibling = pairs;
        pairs = pair;
    }
    for (int64_t following_child; pairs != NONE; pairs = following_child) {
        following_child = pool[pairs].sibling;
        pool[pairs].sibling = NONE;
        merged = meld(pool, merged, pairs);
    }
    return merged;
}

/* Add a candidate to an item. */
static void propose(kbest *k, int64_t id, int choice, int64_t left, int64_t right, double score) {
    const int64_t row = k->used++;
    k->pool[row] = (derivation){.score = score, .item = id, .part = {left, right}, .next = UNKNOWN,
                                .child = NONE, .sibling = NONE, .choice = choice};
    item *entry = &k->items[k->touched[id]];
    entry->heap = meld(k->pool, entry->heap, row);
}

/* Make space in the pool for the candidates of one more item; false without memory. */
static bool grow(kbest *k) {
    if (k->used + k->size > k->capacity) {
        const int64_t capacity = 2 * k->capacity + k->size;
        derivation *pool = realloc(k->pool, (size_t)capacity * sizeof *pool);
        k->failed |= !pool;
        if (pool) {
            k->pool = pool;
            k->capacity = capacity;
        }
    }
    if (k->items_used == k->items_capacity) {
        const int64_t capacity = 2 * k->items_capacity + 8;
        item *items = realloc(k->items, (size_t)capacity * sizeof *items);
        k->failed |= !items;
        if (items) {
            k->items = items;
            k->items_capacity = capacity;
        }
    }
    return !k->failed;
}

/* Give an item its heap, filled with every choice of the best parts. */
static void touch(kbest *k, int64_t id, int i, int j, int h) {
    k->touched[id] = (int32_t)k->items_used;
    k->items[k->items_used++] = (item){NONE, NONE, NONE, NONE};
    if (j - i == 1 && h == j) propose(k, id, 0, NONE, NONE, with_span(k, i, j, h, 0.0));
    if (h > i && h <= j) {
        for (int split = i + 1; split < j; split++) {
            const double parts = *cell(&k->c, i, split, h) + *cell(&k->c, split, j, h);
            const double score = with_span(k, i, j, h, parts);
            if (score > -INFINITY) propose(k, id, split, FIRST, FIRST, score);
        }
        return;
    }
    for (int m = i + 1; m <= j; m++) {
        const double score = with_arc(k, i, j, m, h, *cell(&k->c, i, j, m));
        if (score > -INFINITY) propose(k, id, m, FIRST, NONE, score);
    }
}

/* Parts are smaller than the whole: find_next calls itself no deeper than the height of a tree. */
static void find_next(kbest *k, int64_t id);

/* The best derivation of an item that has one. */
static int64_t first_of(kbest *k, int64_t id) {
    if (k->touched[id] == NONE) find_next(k, id);
    return k->failed ? NONE : k->items[k->touched[id]].oldest;
}

/* The derivation after another one of the same item, or LAST. */
static int64_t following(kbest *k, int64_t derivation) {
    if (k->pool[derivation].next == UNKNOWN) find_next(k, k->pool[derivation].item);
    return k->pool[derivation].next;
}

/* Add the neighbours of the derivation that an item added last: the next left part, then the
   next right part. */
static void push_neighbours(kbest *k, int64_t id, int i, int j, int h) {
    const int64_t last_taken = k->items[k->touched[id]].last_taken;
    for (int side = LEFT; side <= RIGHT && last_taken != NONE; side++) {
        const int choice = k->pool[last_taken].choice;
        int64_t part[2] = {k->pool[last_taken].part[LEFT], k->pool[last_taken].part[RIGHT]};
        if (part[side] == NONE) continue;
        /* The next left part only while the right one is the first: each combination once. */
        const bool has_right = part[RIGHT] != NONE;
        if (side == LEFT && has_right && first_of(k, k->pool[part[RIGHT]].item) != part[RIGHT])
            continue;
        part[side] = following(k, part[side]);
        if (part[side] == LAST || !grow(k)) continue;
        const double below = k->pool[part[LEFT]].score;
        const bool headed = h > i && h <= j;
        const double score = headed ? with_span(k, i, j, h, below + k->pool[part[RIGHT]].score)
                                    : with_arc(k, i, j, choice, h, below);
        propose(k, id, choice, part[LEFT], part[RIGHT], score);
    }
}

/* Replace FIRST as a part of a candidate by the best derivation of its item. */
static void name_parts(kbest *k, int64_t row, int i, int j, int h) {
    const int choice = k->pool[row].choice;
    const bool headed = h > i && h <= j;
    const int64_t below[2] = {headed ? item_number(k, i, choice, h) : item_number(k, i, j, choice),
                              item_number(k, choice, j, h)};
    for (int side = LEFT; side <= RIGHT; side++) {
        if (k->pool[row].part[side] != FIRST) continue;
        /* In two steps, since first_of may move the pool. */
        const int64_t first = first_of(k, below[side]);
        k->pool[row].part[side] = first;
    }
}

/* Whether no earlier derivation of the item shows the same spans and arcs; sets `shown`. */
static bool is_new(const kbest *k, const item *entry, derivation *next, int i, int j, int h) {
    if (!k->visible) return true;
    const uint64_t square = (uint64_t)k->size * (uint64_t)k->size;
    const uint64_t size = (uint64_t)k->size;
    next->shown = 0;
    if (h <= i || h > j)
        next->shown = hash(square + (uint64_t)next->choice * size + (uint64_t)h);
    else if (k->visible[item_number(k, i, j, h)])
        next->shown = hash((uint64_t)i * size + (uint64_t)j);
    for (int side = LEFT; side <= RIGHT; side++)
        if (next->part[side] != NONE) next->shown += k->pool[next->part[side]].shown;
    int64_t other = entry->oldest;
    while (other != NONE) {
        if (k->pool[other].shown == next->shown) return false;
        /* The newest one has no valid `next` yet. */
        other = other == entry->newest ? NONE : k->pool[other].next;
    }
    return true;
}

/* Find the next derivation of an item and append it to its list, or mark the end of the list. */
static void find_next(kbest *k, int64_t id) {
    const int size = k->size;
    const int i = id == GOAL ? 0 : (int)(id / size / size);
    const int j = id == GOAL ? size - 1 : (int)(id / size % size);
    const int h = (int)(id % size);
    if (k->touched[id] == NONE && grow(k)) touch(k, id, i, j, h);
    while (!k->failed) {
        push_neighbours(k, id, i, j, h);
        const int64_t row = k->items[k->touched[id]].heap;
        if (row != NONE) name_parts(k, row, i, j, h);
        if (k->failed) return;
        item *entry = &k->items[k->touched[id]];
        if (row == NONE) {
            k->pool[entry->newest].next = LAST;
            return;
        }
        entry->heap = without_root(k->pool, row);
        entry->last_taken = row;
        if (!is_new(k, entry, &k->pool[row], i, j, h)) continue;
        if (entry->newest == NONE)
            entry->oldest = row;
        else
            k->pool[entry->newest].next = row;
        entry->newest = row;
        return;
    }
}

EXPORTED void KERNEL(kbest_close)(kbest *k) {
    if (!k) return;
    free(k->pool);
    free(k->items);
    if (k->memory) release_block(k->memory);
    free(k);
}

/* Begin a search of n > 0 words: span, arc [n + 1, n + 1], headed packed or NULL, visible
   [n + 1, n + 1, n + 1] or NULL; all must live as long as the search. Fill the chart; return NULL,
   with the reason in *status, if that is impossible. */
EXPORTED kbest *KERNEL(kbest_open)(const double *span, const double *arc, const double *headed,
                                   const unsigned char *visible,
                          int n, int64_t *status) {
    kbest *k = calloc(1, sizeof *k);
    *status = NO_MEMORY;
    if (!k) return NULL;
    k->size = n + 1;
    k->visible = visible;
    const idx_t cells = (idx_t)k->size * k->size * k->size;
    arena memory = {NULL, 0};
    /* The first turn measures, the second has memory. */
    for (int turn = 0; turn < 2; turn++) {
        memory.used = 0;
        k->c = new_chart(&memory, n, headed != NULL);
        k->touched = reserve(&memory, cells, sizeof *k->touched);
        k->stack = reserve(&memory, 2 * k->size + 2, sizeof *k->stack);
        if (!turn && !(k->memory = memory.base = acquire_block(memory.used))) break;
    }
    if (k->memory) {
        k->c.span = span;
        k->c.size = k->size;
        k->c.step = k->size;
        k->c.packed = true;
        k->c.headed = headed;
        if (headed) k->c.end = headed + (idx_t)n * (n + 1) / 2 * k->size;
        /* FORBIDDEN until a word can be the root. */
        *status = search(&k->c, arc) ? FORBIDDEN : TOO_LARGE;
        for (int m = 1; m <= n && *status == FORBIDDEN; m++)
            if (*cell(&k->c, 0, n, m) + arc[m * k->size] > -INFINITY) *status = DONE;
        for (idx_t id = 0; id < cells; id++) k->touched[id] = NONE;
    }
    if (*status == DONE) return k;
    KERNEL(kbest_close)(k);
    return NULL;
}

/* The next tree: heads [n + 1], rows [2n - 1, 3] in pre-order, and its score. Returns FOUND,
   EXHAUSTED or NO_ROOM. */
EXPORTED int KERNEL(kbest_next)(kbest *k, int64_t *heads, int64_t *rows, double *score) {
    int64_t *stack = k->stack;
    int top;
    const bool begun = k->touched[GOAL] != NONE;
    const int64_t next = begun ? following(k, k->items[k->touched[GOAL]].newest)
        : first_of(k, GOAL);
    if (k->failed) return NO_MEMORY;
    if (next == LAST) return EXHAUSTED;
    const derivation *goal = &k->pool[next];
    *score = goal->score;
    heads[0] = 0;
    heads[goal->choice] = 0;
    stack[0] = goal->part[LEFT];
    for (top = 1; top > 0;) {
        const derivation *d = &k->pool[stack[--top]];
        const int64_t i = d->item / k->size / k->size;
        const int64_t j = d->item / k->size % k->size;
        const int64_t h = d->item % k->size;
        if (h <= i || h > j) {
            heads[d->choice] = h;
            stack[top++] = d->part[LEFT];
            continue;
        }
        *rows++ = i;
        *rows++ = j;
        *rows++ = h;
        if (j - i == 1) continue;
        stack[top++] = d->part[RIGHT];
        stack[top++] = d->part[LEFT];
    }
    return DONE;
}
