/* Memory and threads: the only file that speaks with the operating system. Compiled once, for all variants. */

#include "common.h"

#ifdef _WIN32
#include <windows.h>
typedef HANDLE thread;
typedef DWORD result;
#define CALLED WINAPI
static bool start(thread *thread, result(CALLED *work)(void *), void *argument) {
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
typedef void *result;
#define CALLED
static bool start(thread *thread, result(CALLED *work)(void *), void *argument) {
    return pthread_create(thread, NULL, work, argument) == 0;
}
static void join(thread thread) { pthread_join(thread, NULL); }
#endif

/* A block begins with its size and where malloc put it; the caller's part follows at a multiple of 64 bytes. */
typedef struct {
    size_t size;
    void *allocated;
} header;

enum { KEPT = 4, LARGEST_KEPT = 4 << 20 };
static _Atomic(void *) kept[KEPT];

static header *header_of(void *block) { return (header *)((char *)block - 64); }

void *borrow(size_t size) {
    for (int slot = 0; slot < KEPT; slot++) {
        void *block = atomic_exchange(&kept[slot], NULL);
        if (block && header_of(block)->size >= size) return block;
        if (block) free(header_of(block)->allocated);
    }
    char *allocated = malloc(size + 128);
    if (!allocated) return NULL;
    char *block = allocated + (128 - (uintptr_t)allocated % 64);
    *header_of(block) = (header){size, allocated};
    return block;
}

void give_back(void *block) {
    for (int slot = 0; slot < KEPT && header_of(block)->size <= LARGEST_KEPT; slot++) {
        void *empty = NULL;
        if (atomic_compare_exchange_strong(&kept[slot], &empty, block)) return;
    }
    free(header_of(block)->allocated);
}

static int sentence_of(batch *batch, int turn) { return batch->order ? batch->order[turn] : turn; }

/* Takes sentence after sentence until none is left. */
static result CALLED work(void *argument) {
    batch *batch = argument;
    room room = {NULL, 0};
    size_t size = 0;
    for (int turn; (turn = atomic_fetch_add(&batch->next, 1)) < batch->count;) {
        int b = sentence_of(batch, turn);
        if (batch->lengths[b] == 0) continue;
        char *base = room.base;
        room.base = NULL;
        room.used = 0;
        batch->sentence(batch, b, &room);
        room.base = base;
        if (room.used > size) {
            if (room.base) give_back(room.base);
            size = room.used;
            room.base = borrow(size);
            if (!room.base) size = 0;
        }
        room.used = 0;
        batch->status[b] = room.base ? batch->sentence(batch, b, &room) : NO_MEMORY;
    }
    if (room.base) give_back(room.base);
    return 0;
}

int run_batch(batch *batch) {
    thread others[64];
    int started = 0;
    int64_t alone;
    if (!batch->status) batch->status = &alone;
    memset(batch->status, 0, (size_t)batch->count * sizeof *batch->status);
    atomic_init(&batch->next, 0);
    while (started < batch->threads - 1 && started < 64 && start(&others[started], work, batch)) started++;
    work(batch);
    while (started > 0) join(others[--started]);
    if (batch->status == &alone) return (int)alone;
    int failed = 0;
    for (int b = 0; b < batch->count; b++) failed += batch->status[b] != DONE;
    return failed;
}
