/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Infects processes by the C interface, sends commands to a blob, and checks that the processes don't change. Usage:
 * infect. Prints failures, and exits with status 1 after a failure.
 */
#include "commands.h"
#include "parasite.h"

#include <compel/cpu.h>
#include <compel/infect-util.h>
#include <compel/infect.h>
#include <compel/log.h>
#include <compel/ptrace.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                                    \
    do {                                                                                                    \
        if (!(condition)) {                                                                                 \
            fprintf(stderr, "%s:%d: not true: %s (%s)\n", __FILE__, __LINE__, #condition, strerror(errno)); \
            exit(1);                                                                                        \
        }                                                                                                   \
    } while (0)

static int log_pipe[2];
static char logged[65536];

static void keep_log(unsigned int level, const char* format, va_list arguments) {
    const size_t used = strlen(logged);
    (void)level;
    vsnprintf(logged + used, sizeof(logged) - used, format, arguments);
}

struct victim {
    pid_t pid;
    pid_t thread;
    int to;
    int from;
};

static void* wait_for_ever(void* tid) {
    *(volatile pid_t*)tid = (pid_t)syscall(SYS_gettid);
    for (;;)
        pause();
    return NULL;
}

/* Writes each number that it has read from `in` to `out`. Exits with status 0 at the end of the input, and with status
 * 3 if a register has changed. */
static void live(int in, int out, bool with_thread) {
    const double vector __attribute__((vector_size(16))) = {1.25, -2.5};
    double held __attribute__((vector_size(16))) = vector;
    volatile pid_t tid = 0;
    pthread_t thread;
    if (with_thread) {
        pthread_create(&thread, NULL, wait_for_ever, (void*)&tid);
        while (tid == 0)
            usleep(1000);
    }
    long value = tid;
    if (write(out, &value, sizeof(value)) != sizeof(value))
        _exit(4);
    for (;;) {
        long result;
        /* Waits for input while vector registers contain a value. */
#if defined(__aarch64__)
        register long number __asm__("x8") = SYS_read;
        register long first __asm__("x0") = in;
        register long* second __asm__("x1") = &value;
        register long third __asm__("x2") = sizeof(value);
        __asm__ volatile("svc #0" : "+r"(first), "+w"(held) : "r"(number), "r"(second), "r"(third) : "memory");
        result = first;
#else
        __asm__ volatile("syscall"
                         : "=a"(result), "+x"(held)
                         : "0"(SYS_read), "D"((long)in), "S"(&value), "d"(sizeof(value))
                         : "rcx", "r11", "memory");
#endif
        if (memcmp(&held, &vector, sizeof(vector)) != 0)
            _exit(3);
        if (result == 0)
            _exit(0);
        if (result != sizeof(value) || write(out, &value, sizeof(value)) != sizeof(value))
            _exit(5);
    }
}

static struct victim start(bool with_thread) {
    struct victim victim;
    int in[2], out[2];
    long thread;
    CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    victim.pid = fork();
    if (victim.pid == 0) {
        close(in[1]);
        close(out[0]);
        live(in[0], out[1], with_thread);
    }
    close(in[0]);
    close(out[1]);
    victim.to = in[1];
    victim.from = out[0];
    CHECK(read(victim.from, &thread, sizeof(thread)) == sizeof(thread));
    victim.thread = (pid_t)thread;
    return victim;
}

static void must_answer(const struct victim* victim, long value) {
    long answer = 0;
    CHECK(write(victim->to, &value, sizeof(value)) == sizeof(value));
    CHECK(read(victim->from, &answer, sizeof(answer)) == sizeof(answer) && answer == value);
}

static void must_end(struct victim* victim) {
    int status;
    close(victim->to);
    CHECK(waitpid(victim->pid, &status, 0) == victim->pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(victim->from);
}

/* Returns the content of a file below /proc/PID, to compare it later. */
static char* text_of(pid_t pid, const char* name) {
    char path[64];
    char* text = calloc(1, 65536);
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    const int fd = open(path, O_RDONLY);
    CHECK(text != NULL && fd >= 0);
    for (ssize_t got, used = 0; (got = read(fd, text + used, (size_t)(65535 - used))) > 0;)
        used += got;
    close(fd);
    return text;
}

static struct parasite_ctl* infect(const struct victim* victim, int* state, unsigned long threads) {
    *state = compel_stop_task(victim->pid);
    CHECK(*state > 0);
    struct parasite_ctl* ctl = compel_prepare(victim->pid);
    CHECK(ctl != NULL);
    compel_infect_ctx(ctl)->log_fd = log_pipe[1];
    parasite_setup_c_header(ctl);
    CHECK(compel_infect(ctl, threads, sizeof(struct arguments)) == 0);
    return ctl;
}

static void test_commands(unsigned long flags) {
    struct victim victim = start(false);
    char* maps = text_of(victim.pid, "maps");
    char line[256] = "";
    int state = compel_stop_task(victim.pid);
    CHECK(state == COMPEL_TASK_ALIVE);
    struct parasite_ctl* ctl = compel_prepare(victim.pid);
    CHECK(ctl != NULL && compel_mode_native(ctl));
    compel_infect_ctx(ctl)->log_fd = log_pipe[1];
    compel_infect_ctx(ctl)->flags |= flags;
    parasite_setup_c_header(ctl);

    long result = 0;
    CHECK(compel_syscall(ctl, SYS_getpid, &result, 0, 0, 0, 0, 0, 0) == 0 && result == victim.pid);
    CHECK(compel_syscall(ctl, SYS_close, &result, 999, 0, 0, 0, 0, 0) == 0 && result == -EBADF);

    CHECK(compel_infect(ctl, 1, sizeof(struct arguments)) == 0);
    struct arguments* args = compel_parasite_args(ctl, struct arguments);
    /* The arguments overlap nothing that the blob needs for its end. */
    memset(compel_parasite_args_s(ctl, PARASITE_ARG_SIZE_MIN), 0xa5, PARASITE_ARG_SIZE_MIN);
    args->first = -137;
    args->second = 404;
    CHECK(compel_rpc_call_sync(COMMAND_ADD, ctl) == 0 && args->sum == 267);
    CHECK(read(log_pipe[0], line, sizeof(line) - 1) > 0);
    CHECK(strstr(line, "-137 plus 404 is 267, 0x00ab, so x%\n") != NULL);
    args->first = 2;
    CHECK(compel_rpc_call_sync(COMMAND_NAME, ctl) == 0 && strcmp(args->text, "   -7|two|ff") == 0);
    CHECK(compel_rpc_call_sync(COMMAND_COUNT, ctl) == 0 && compel_rpc_call_sync(COMMAND_COUNT, ctl) == 0);
    CHECK(args->sum == 2);

    int stolen = -1;
    struct stat here, there;
    args->first = 2;
    CHECK(compel_rpc_call(COMMAND_SEND, ctl) == 0 && compel_util_recv_fd(ctl, &stolen) == 0);
    CHECK(compel_rpc_sync(COMMAND_SEND, ctl) == 0);
    CHECK(fstat(2, &here) == 0 && fstat(stolen, &there) == 0 && here.st_ino == there.st_ino);
    close(stolen);
    CHECK(compel_rpc_call(COMMAND_RECEIVE, ctl) == 0 && compel_util_send_fd(ctl, log_pipe[1]) == 0);
    CHECK(compel_rpc_sync(COMMAND_RECEIVE, ctl) == 0 && args->sum > 2);

    CHECK(compel_cure(ctl) == 0);
    CHECK(compel_resume_task(victim.pid, state, state) == 0);
    must_answer(&victim, 1234567);
    char* later = text_of(victim.pid, "maps");
    CHECK(strcmp(maps, later) == 0);
    free(maps);
    free(later);
    must_end(&victim);
}

/* Checks that the kernel restarts an interrupted system call when the process continues, with and without a blob. */
static void test_waiting_call(void) {
    struct victim victim = start(false);
    for (int turn = 0; turn < 3; turn++) {
        long result;
        int state = compel_stop_task(victim.pid);
        CHECK(state == COMPEL_TASK_ALIVE);
        struct parasite_ctl* ctl = compel_prepare(victim.pid);
        CHECK(ctl != NULL);
        CHECK(compel_syscall(ctl, SYS_getppid, &result, 0, 0, 0, 0, 0, 0) == 0 && result == getpid());
        CHECK(compel_cure(ctl) == 0 && compel_resume_task(victim.pid, state, state) == 0);
        must_answer(&victim, turn);
        ctl = infect(&victim, &state, 1);
        CHECK(compel_cure(ctl) == 0 && compel_resume_task(victim.pid, state, state) == 0);
        must_answer(&victim, turn);
    }
    must_end(&victim);
}

static void test_thread(void) {
    struct victim victim = start(true);
    int state;
    CHECK(compel_stop_task(victim.thread) == COMPEL_TASK_ALIVE);
    struct parasite_ctl* ctl = infect(&victim, &state, 2);
    void *stack = NULL, *thread_stack = NULL;
    compel_get_stack(ctl, &stack, &thread_stack);
    CHECK(stack != NULL && thread_stack > stack);
    struct parasite_thread_ctl* thread = compel_prepare_thread(ctl, victim.thread);
    CHECK(thread != NULL && compel_get_thread_ip(thread) != 0);
    CHECK(compel_run_in_thread(thread, COMMAND_THREAD) == 0);
    CHECK(((struct arguments*)compel_parasite_args_p(ctl))->sum == victim.thread);
    compel_release_thread(thread);
    CHECK(compel_cure(ctl) == 0);
    CHECK(compel_resume_task(victim.thread, COMPEL_TASK_ALIVE, COMPEL_TASK_ALIVE) == 0);
    CHECK(compel_resume_task(victim.pid, state, state) == 0);
    must_answer(&victim, 77);
    must_end(&victim);
}

static void test_stopped(void) {
    struct victim victim = start(false);
    int state, status;
    kill(victim.pid, SIGSTOP);
    CHECK(waitpid(victim.pid, &status, WUNTRACED) == victim.pid && WIFSTOPPED(status));
    struct parasite_ctl* ctl = infect(&victim, &state, 1);
    CHECK(state == COMPEL_TASK_STOPPED);
    CHECK(compel_cure(ctl) == 0 && compel_resume_task(victim.pid, state, state) == 0);
    bool stopped = false; /* the process stops some time after it was detached */
    for (int turn = 0; turn < 1000 && !stopped; turn++) {
        char* text = text_of(victim.pid, "status");
        stopped = strstr(text, "State:\tT") != NULL;
        free(text);
        usleep(10000);
    }
    CHECK(stopped);
    kill(victim.pid, SIGCONT);
    must_answer(&victim, 5);
    must_end(&victim);
}

static void test_failures(void) {
    struct victim victim = start(false);
    int state, status;
    struct parasite_ctl* ctl = infect(&victim, &state, 1);
    CHECK(compel_rpc_call_sync(COMMAND_FAIL, ctl) != 0);
    CHECK(strstr(logged, "failed: -5") != NULL);
    CHECK(compel_cure(ctl) == 0 && compel_resume_task(victim.pid, state, state) == 0);
    must_answer(&victim, 6);

    ctl = infect(&victim, &state, 1);
    kill(victim.pid, SIGKILL);
    CHECK(compel_rpc_call_sync(COMMAND_COUNT, ctl) != 0);
    CHECK(compel_cure_remote(ctl) != 0 && compel_cure_local(ctl) == 0);
    waitpid(victim.pid, &status, __WALL);
    CHECK(compel_stop_task(victim.pid) < 0);
    close(victim.to);
    close(victim.from);

    victim = start(false);
    state = compel_stop_task(victim.pid);
    ctl = compel_prepare(victim.pid);
    CHECK(ctl != NULL && compel_infect(ctl, 1, 1) != 0); /* fails, because neither blob nor log is set */
    compel_infect_ctx(ctl)->log_fd = log_pipe[1];
    compel_infect_ctx(ctl)->flags |= INFECT_FAIL_CONNECT;
    parasite_setup_c_header(ctl);
    CHECK(compel_infect(ctl, 1, 1) != 0 && strstr(logged, "can't connect") != NULL);
    CHECK(compel_resume_task(victim.pid, state, COMPEL_TASK_DEAD) == 0);
    CHECK(compel_cure_local(ctl) == 0);
    waitpid(victim.pid, &status, __WALL);
}

static void test_memory(void) {
    struct victim victim = start(false);
    static char place[16] = "0123456789abcde"; /* the child has it at the same address, because it was forked */
    char ours[16] = "edcba9876543210";
    const int state = compel_stop_task(victim.pid);
    CHECK(ptrace_swap_area(victim.pid, place, ours, sizeof(ours)) == 0 && strcmp(ours, place) == 0);
    CHECK(ptrace_peek_area(victim.pid, ours, place, sizeof(ours)) == 0 && strcmp(ours, "edcba9876543210") == 0);
    CHECK(ptrace_peek_area(victim.pid, ours, place, 7) == -1);
    CHECK(ptrace_poke_area(victim.pid, ours, NULL, 8) < 0);
    CHECK(compel_resume_task(victim.pid, state, state) == 0);
    must_end(&victim);
}

/* Checks each kind of relocation at addresses of a blob that isn't infected. */
static void test_relocations(void) {
    enum { GOT = 96, AT = 0x7000 };
    unsigned char memory[128] __attribute__((aligned(8))) = {0};
    compel_reloc_t places[] = {{.offset = 20, .type = COMPEL_TYPE_GOTPCREL, .addend = -4, .value = 40},
                               {.offset = 32, .type = COMPEL_TYPE_LONG, .addend = 3, .value = 48},
                               {.offset = 44, .type = COMPEL_TYPE_INT, .addend = 1, .value = 52},
                               {.offset = 24, .type = COMPEL_TYPE_GOTPCREL, .addend = -4, .value = 56}};
    struct parasite_blob_desc blob = {.parasite_type = COMPEL_BLOB_CHEADER};
    int32_t distance;
    uint32_t half;
    uint64_t whole;
    blob.hdr.relocs = places;
    blob.hdr.nr_relocs = 4;
    blob.hdr.got_off = GOT;
    blob.hdr.args_ptr_off = 8;
    blob.hdr.args_off = 120;
    compel_relocs_apply(memory, (void*)AT, &blob);
    CHECK(memcpy(&whole, memory + 8, sizeof(whole)) && whole == AT + 120);
    CHECK(memcpy(&distance, memory + 20, sizeof(distance)) && distance == GOT - 20 - 4);
    CHECK(memcpy(&distance, memory + 24, sizeof(distance)) && distance == GOT + 8 - 24 - 4);
    CHECK(memcpy(&whole, memory + GOT, sizeof(whole)) && whole == AT + 40);
    CHECK(memcpy(&whole, memory + GOT + 8, sizeof(whole)) && whole == AT + 56);
    CHECK(memcpy(&whole, memory + 32, sizeof(whole)) && whole == AT + 51);
    CHECK(memcpy(&half, memory + 44, sizeof(half)) && half == AT + 53);
}

static void test_processor(void) {
    compel_cpuinfo_t info = {0};
    CHECK(compel_cpuid(&info) == 0);
#if defined(__x86_64__)
    CHECK(compel_cpu_has_feature(X86_FEATURE_FPU));
    CHECK(compel_fpu_has_feature(XFEATURE_SSE));
    if (compel_cpu_has_feature(X86_FEATURE_AVX)) {
        CHECK(compel_fpu_feature_offset(XFEATURE_YMM) == XSAVE_YMM_OFFSET);
        CHECK(compel_fpu_feature_size(XFEATURE_YMM) == XSAVE_YMM_SIZE);
    }
    compel_cpu_clear_feature(X86_FEATURE_MMX);
    CHECK(!compel_cpu_has_feature(X86_FEATURE_MMX));
#endif
}

int main(void) {
    alarm(60);
    CHECK(pipe2(log_pipe, O_CLOEXEC) == 0);
    compel_log_init(keep_log, COMPEL_LOG_DEBUG);
    CHECK(compel_log_get_loglevel() == COMPEL_LOG_DEBUG);
    test_commands(0);
    test_commands(INFECT_NO_MEMFD);
    test_waiting_call();
    test_thread();
    test_stopped();
    test_failures();
    test_memory();
    test_relocations();
    test_processor();
    puts("infected, and cured");
    return 0;
}
