/* SPDX-License-Identifier: LGPL-2.1-only */
/* Declarations of system calls for blobs. They work like the functions of their man pages, but return -errno after an
 * error. */
#ifndef COMPEL_PLUGINS_STD_SYSCALL_H
#define COMPEL_PLUGINS_STD_SYSCALL_H

#include <compel/common/compiler.h>
#include <compel/plugins/std/syscall-codes.h>
#include <compel/plugins/std/syscall-types.h>

COMPEL_BEGIN_C

extern long sys_read(int, void*, unsigned long);
extern long sys_write(int, const void*, unsigned long);
extern long sys_open(const char*, unsigned long, unsigned long);
extern long sys_close(int);
extern long sys_lseek(int, unsigned long, unsigned long);
extern long sys_mmap(void*, unsigned long, unsigned long, unsigned long, unsigned long, unsigned long);
extern long sys_mprotect(const void*, unsigned long, unsigned long);
extern long sys_munmap(void*, unsigned long);
extern long sys_brk(void*);
extern long sys_sigaction(int, const rt_sigaction_t*, rt_sigaction_t*, size_t);
extern long sys_sigprocmask(int, k_rtsigset_t*, k_rtsigset_t*, size_t);
extern long sys_rt_sigreturn(void);
extern long sys_ioctl(unsigned int, unsigned int, unsigned long);
extern long sys_pread(unsigned int, char*, size_t, loff_t);
extern long sys_mremap(unsigned long, unsigned long, unsigned long, unsigned long, unsigned long);
extern long sys_mincore(void*, unsigned long, unsigned char*);
extern long sys_madvise(unsigned long, size_t, int);
extern long sys_shmat(int, void*, int);
extern long sys_dup2(int, int);
extern long sys_nanosleep(struct timespec*, struct timespec*);
extern long sys_getitimer(int, const struct itimerval*);
extern long sys_setitimer(int, const struct itimerval*, struct itimerval*);
extern long sys_getpid(void);
extern long sys_socket(int, int, int);
extern long sys_connect(int, struct sockaddr*, int);
extern long sys_sendto(int, void*, size_t, unsigned int, struct sockaddr*, int);
extern long sys_recvfrom(int, void*, size_t, unsigned int, struct sockaddr*, int*);
extern long sys_sendmsg(int, const struct msghdr*, int);
extern long sys_recvmsg(int, struct msghdr*, int);
extern long sys_shutdown(int, int);
extern long sys_bind(int, const struct sockaddr*, int);
extern long sys_setsockopt(int, int, int, const void*, socklen_t);
extern long sys_getsockopt(int, int, int, const void*, socklen_t*);
extern long sys_clone(unsigned long, void*, void*, void*, unsigned long);
extern long sys_exit(unsigned long);
extern long sys_wait4(int, int*, int, struct rusage*);
extern long sys_kill(long, int);
extern long sys_fcntl(int, int, long);
extern long sys_flock(int, unsigned long);
extern long sys_mkdir(const char*, int);
extern long sys_rmdir(const char*);
extern long sys_unlink(char*);
extern long sys_umask(int);
extern long sys_gettimeofday(struct timeval*, struct timezone*);
extern long sys_ptrace(long, pid_t, void*, void*);
extern long sys_getgroups(int, unsigned int*);
extern long sys_setgroups(int, unsigned int*);
extern long sys_setresuid(int, int, int);
extern long sys_getresuid(int*, int*, int*);
extern long sys_setresgid(int, int, int);
extern long sys_getresgid(int*, int*, int*);
extern long sys_getpgid(pid_t);
extern long sys_setfsuid(int);
extern long sys_setfsgid(int);
extern long sys_getsid(void);
extern long sys_capget(struct cap_header*, struct cap_data*);
extern long sys_capset(struct cap_header*, struct cap_data*);
extern long sys_rt_sigqueueinfo(pid_t, int, siginfo_t*);
extern long sys_sigaltstack(const void*, void*);
extern long sys_personality(unsigned int);
extern long sys_setpriority(int, int, int);
extern long sys_sched_setscheduler(int, int, struct sched_param*);
extern long sys_prctl(int, unsigned long, unsigned long, unsigned long, unsigned long);
#ifdef __NR_arch_prctl
extern long sys_arch_prctl(int, unsigned long);
#endif
extern long sys_setrlimit(int, struct krlimit*);
extern long sys_mount(char*, char*, char*, unsigned long, void*);
extern long sys_umount2(char*, int);
extern long sys_gettid(void);
extern long sys_futex(uint32_t*, int, uint32_t, struct timespec*, uint32_t*, uint32_t);
#ifdef __NR_set_thread_area
extern long sys_set_thread_area(user_desc_t*);
extern long sys_get_thread_area(user_desc_t*);
#endif
extern long sys_io_setup(unsigned, aio_context_t*);
extern long sys_io_getevents(aio_context_t, long, long, struct io_event*, struct timespec*);
extern long sys_io_submit(aio_context_t, long, struct iocb**);
extern long sys_set_tid_address(int*);
extern long sys_restart_syscall(void);
extern long sys_timer_create(clockid_t, struct sigevent*, kernel_timer_t*);
extern long sys_timer_settime(kernel_timer_t, int, const struct itimerspec*, struct itimerspec*);
extern long sys_timer_gettime(int, const struct itimerspec*);
extern long sys_timer_getoverrun(int);
extern long sys_timer_delete(kernel_timer_t);
extern long sys_clock_gettime(const clockid_t, const struct timespec*);
extern long sys_exit_group(int);
extern long sys_openat(int, const char*, int, int);
extern long sys_waitid(int, pid_t, struct siginfo*, int, struct rusage*);
extern long sys_readlinkat(int, const char*, char*, int);
extern long sys_set_robust_list(struct robust_list_head*, size_t);
extern long sys_get_robust_list(int, struct robust_list_head**, size_t*);
extern long sys_seccomp(unsigned int, unsigned int, const char*);
extern long sys_vmsplice(int, const struct iovec*, unsigned long, unsigned int);
extern long sys_fallocate(int, int, loff_t, loff_t);
extern long sys_timerfd_settime(int, int, const struct itimerspec*, struct itimerspec*);
extern long sys_signalfd(int, k_rtsigset_t*, size_t, int);
extern long sys_preadv_raw(int, struct iovec*, unsigned long, unsigned long, unsigned long);
extern long sys_rt_tgsigqueueinfo(pid_t, pid_t, int, siginfo_t*);
extern long sys_fanotify_init(unsigned int, unsigned int);
extern long sys_fanotify_mark(int, unsigned int, uint64_t, int, const char*);
extern long sys_open_by_handle_at(int, struct file_handle*, int);
extern long sys_setns(int, int);
extern long sys_kcmp(pid_t, pid_t, int, unsigned long, unsigned long);
extern long sys_memfd_create(const char*, unsigned int);
extern long sys_userfaultfd(int);
extern long sys_ppoll(struct pollfd*, unsigned int, const struct timespec*, const sigset_t*, size_t);
extern long sys_open_tree(int, const char*, unsigned int);
extern long sys_move_mount(int, const char*, int, const char*, int);
extern long sys_fsopen(char*, unsigned int);
extern long sys_fsconfig(int, unsigned int, const char*, const char*, int);
extern long sys_fsmount(int, unsigned int, unsigned int);
extern long sys_clone3(struct clone_args*, size_t);
extern long sys_close_range(unsigned int, unsigned int, unsigned int);
extern long sys_pidfd_open(pid_t, unsigned int);
extern long sys_openat2(int, char*, struct open_how*, size_t);
extern long sys_pidfd_getfd(int, int, unsigned int);
extern long sys_rseq(void*, uint32_t, int, uint32_t);
extern long sys_membarrier(int, unsigned int, int);
extern long sys_map_shadow_stack(unsigned long, unsigned long, unsigned int);

/* Calls preadv(2), whose file position the kernel takes as two arguments. */
static inline long sys_preadv(int fd, struct iovec* parts, unsigned long count, off_t position) {
    return sys_preadv_raw(fd, parts, count, (unsigned long)position, 0);
}

COMPEL_END_C

#endif
