/* Guards memory maps of files that another program may truncate. A page beyond a file's new end can't be read (SIGBUS);
 * a guarded map has zeros there from then on, and `cut` is set. */
#ifndef KCLI_MAP_GUARD_H
#define KCLI_MAP_GUARD_H

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KC_MOST_MAPS 64 /* guarded at one time */

typedef struct {
    volatile uintptr_t start, end; /* of whole pages; 0: this guard is free */
    volatile sig_atomic_t cut;
} kc_guard;

static kc_guard kc_guards[KC_MOST_MAPS];
static struct sigaction kc_handler_before;
static int kc_is_guarding;
static uintptr_t kc_page;

/* Maps zeros in place of pages beyond the file's end. Returns 0 if no guarded map has this address, or mmap fails. */
static int kc_mend(uintptr_t at) {
    for (int i = 0; i < KC_MOST_MAPS; i++) {
        kc_guard *guard = &kc_guards[i];
        if (at < guard->start || at >= guard->end)
            continue;
        void *from = (void *)(at / kc_page * kc_page);
        size_t size = guard->end - (uintptr_t)from;
        guard->cut = 1;
        return mmap(from, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
    }
    return 0;
}

static void kc_on_bus_error(int number, siginfo_t *info, void *context) {
    int error = errno;
    int mended = kc_mend((uintptr_t)info->si_addr);
    errno = error;
    if (mended)
        return;
    if (kc_handler_before.sa_flags & SA_SIGINFO)
        kc_handler_before.sa_sigaction(number, info, context);
    else if (kc_handler_before.sa_handler != SIG_DFL && kc_handler_before.sa_handler != SIG_IGN)
        kc_handler_before.sa_handler(number);
    else
        signal(number, SIG_DFL); /* the access is repeated, and ends the process */
}

/* Returns the number of a guard over a map; -1: there are too many, or SIGBUS can't be handled. Only for one thread
 * at a time. */
static int kc_begin_guard(const void *start, size_t size) {
    if (!kc_is_guarding) {
        struct sigaction handler;
        memset(&handler, 0, sizeof handler);
        handler.sa_sigaction = kc_on_bus_error;
        handler.sa_flags = SA_SIGINFO;
        kc_page = (uintptr_t)sysconf(_SC_PAGESIZE);
        if (sigaction(SIGBUS, &handler, &kc_handler_before) != 0)
            return -1;
        kc_is_guarding = 1;
    }
    for (int i = 0; i < KC_MOST_MAPS; i++) {
        kc_guard *guard = &kc_guards[i];
        if (guard->end)
            continue;
        guard->cut = 0;
        guard->start = (uintptr_t)start;
        guard->end = ((uintptr_t)start + size + kc_page - 1) / kc_page * kc_page;
        return i;
    }
    return -1;
}

static int kc_was_cut(int guard) { return guard >= 0 && kc_guards[guard].cut; }

static void kc_end_guard(int guard) {
    if (guard >= 0)
        kc_guards[guard].end = kc_guards[guard].start = 0;
}

#endif
