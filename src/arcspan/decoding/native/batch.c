/* Memory and threads: the only file that calls the operating system. Compiled once, for all
   variants. */

#include "common.h"

#ifdef _WIN32
#include <windows.h>
typedef HANDLE thread;
typedef DWORD thread_result;
#define CALLED WINAPI
static bool start(thread *thread, thread_result(CALLED *work)(void *), void *argument) {
    *thread = CreateThread(NULL, 0, work, argument, 0, NULL);
    return *thread != NULL;
}
static void join(thread thread) {
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
}
#else
#include <pthread.h>
typedef pthread_t thread;
typedef void *thread_result;
#define CALLED
static bool start(thread *thread, thread_result(CALLED *work)(void *), void *argument) {
    return pthread_create(thread, NULL, work, argument) == 0;
}
static void join(thread thread) { pthread_join(thread, NULL); }
#endif

/* A block begins with its size and the address from malloc; the caller's part follows at a
   multiple of 64 bytes. */
typedef struct {
    size_t size;
    void *allocated;
} header;

enum { CACHED_BLOCKS = 4, LARGEST_CACHED = 4 << 20, MOST_WORKERS = 64 };
static _Atomic(void *) cached[CACHED_BLOCKS];

static header *header_of(void *block) { return (header *)((char *)block - 64); }

void *acquire_block(size_t size) {
    for (int slot = 0; slot < CACHED_BLOCKS; slot++) {
        void *block = atomic_exchange(&cached[slot], NULL);
        if (block && header_of(block)->size >= size) return block;
        if (block) free(header_of(block)->allocated);
    }
    char *allocated = malloc(size + 128);
    if (!allocated) return NULL;
    char *block = allocated + (128 - (uintptr_t)allocated % 64);
    *header_of(block) = (header){size, allocated};
    return block;
}

void release_block(void *block) {
    for (int slot = 0; slot < CACHED_BLOCKS && header_of(block)->size <= LARGEST_CACHED; slot++) {
        void *empty = NULL;
        if (atomic_compare_exchange_strong(&cached[slot], &empty, block)) return;
    }
    free(header_of(block)->allocated);
}

static int sentence_of(batch *batch, int turn) { return batch->order ? batch->order[turn] : turn; }

/* The size of the memory that a sentence needs. */
static size_t measure(batch *batch, int b) {
    arena memory = {NULL, 0};
    batch->sentence(batch, b, &memory);
    return memory.used;
}

/* Compute one sentence after the other until all of the batch are begun. Each runs twice: with
   an arena without memory, which measures, then with a block that is large enough. */
static thread_result CALLED work(void *argument) {
    batch *batch = argument;
    char *block = NULL;
    size_t size = 0;
    for (int turn; (turn = atomic_fetch_add(&batch->next, 1)) < batch->count;) {
        int b = sentence_of(batch, turn);
        if (batch->lengths[b] == 0) continue;
        size_t needed = measure(batch, b);
        /* The block of the last sentence serves if it is large enough. */
        if (needed > size) {
            if (block) release_block(block);
            block = acquire_block(needed);
            size = block ? needed : 0;
        }
        arena memory = {block, 0};
        batch->status[b] = block ? batch->sentence(batch, b, &memory) : NO_MEMORY;
    }
    if (block) release_block(block);
    return 0;
}

int run_batch(batch *batch) {
    thread workers[MOST_WORKERS];
    int started = 0;
    int64_t only_status;
    if (!batch->status) batch->status = &only_status;
    memset(batch->status, 0, (size_t)batch->count * sizeof *batch->status);
    atomic_init(&batch->next, 0);
    int most = smaller_int(batch->threads - 1, MOST_WORKERS);
    while (started < most && start(&workers[started], work, batch)) started++;
    /* This thread works as well. Where no further one starts, it computes all. */
    work(batch);
    while (started > 0) join(workers[--started]);
    if (batch->status == &only_status) return (int)only_status;
    int failed = 0;
    for (int b = 0; b < batch->count; b++) failed += batch->status[b] != DONE;
    return failed;
}
