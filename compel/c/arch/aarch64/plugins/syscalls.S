/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Functions with the names of system calls (compel/plugins/std/syscall.h). The kernel takes the arguments from the same
 * registers as a C function. The functions at the end make calls that this processor has only in a newer form.
 */
#include <asm/unistd.h>

#define AT_FDCWD -100
#define AT_REMOVEDIR 0x200

	.macro	begin name
	.section .text.\name, "ax", @progbits
	.globl	\name
	.type	\name, @function
\name:
	.endm

	.macro	end name, number
	mov	x8, #\number
	svc	#0
	ret
	.size	\name, . - \name
	.endm

	.macro	system_call name, number
	begin	\name
	end	\name, \number
	.endm

	system_call sys_read, __NR_read
	system_call sys_write, __NR_write
	system_call sys_close, __NR_close
	system_call sys_lseek, __NR_lseek
	system_call sys_mmap, __NR_mmap
	system_call sys_mprotect, __NR_mprotect
	system_call sys_munmap, __NR_munmap
	system_call sys_brk, __NR_brk
	system_call sys_sigaction, __NR_rt_sigaction
	system_call sys_sigprocmask, __NR_rt_sigprocmask
	system_call sys_rt_sigreturn, __NR_rt_sigreturn
	system_call sys_ioctl, __NR_ioctl
	system_call sys_pread, __NR_pread64
	system_call sys_mremap, __NR_mremap
	system_call sys_mincore, __NR_mincore
	system_call sys_madvise, __NR_madvise
	system_call sys_shmat, __NR_shmat
	system_call sys_nanosleep, __NR_nanosleep
	system_call sys_getitimer, __NR_getitimer
	system_call sys_setitimer, __NR_setitimer
	system_call sys_getpid, __NR_getpid
	system_call sys_socket, __NR_socket
	system_call sys_connect, __NR_connect
	system_call sys_sendto, __NR_sendto
	system_call sys_recvfrom, __NR_recvfrom
	system_call sys_sendmsg, __NR_sendmsg
	system_call sys_recvmsg, __NR_recvmsg
	system_call sys_shutdown, __NR_shutdown
	system_call sys_bind, __NR_bind
	system_call sys_setsockopt, __NR_setsockopt
	system_call sys_getsockopt, __NR_getsockopt
	system_call sys_clone, __NR_clone
	system_call sys_exit, __NR_exit
	system_call sys_wait4, __NR_wait4
	system_call sys_kill, __NR_kill
	system_call sys_fcntl, __NR_fcntl
	system_call sys_flock, __NR_flock
	system_call sys_umask, __NR_umask
	system_call sys_gettimeofday, __NR_gettimeofday
	system_call sys_ptrace, __NR_ptrace
	system_call sys_getgroups, __NR_getgroups
	system_call sys_setgroups, __NR_setgroups
	system_call sys_setresuid, __NR_setresuid
	system_call sys_getresuid, __NR_getresuid
	system_call sys_setresgid, __NR_setresgid
	system_call sys_getresgid, __NR_getresgid
	system_call sys_getpgid, __NR_getpgid
	system_call sys_setfsuid, __NR_setfsuid
	system_call sys_setfsgid, __NR_setfsgid
	system_call sys_getsid, __NR_getsid
	system_call sys_capget, __NR_capget
	system_call sys_capset, __NR_capset
	system_call sys_rt_sigqueueinfo, __NR_rt_sigqueueinfo
	system_call sys_sigaltstack, __NR_sigaltstack
	system_call sys_personality, __NR_personality
	system_call sys_setpriority, __NR_setpriority
	system_call sys_sched_setscheduler, __NR_sched_setscheduler
	system_call sys_prctl, __NR_prctl
	system_call sys_setrlimit, __NR_setrlimit
	system_call sys_mount, __NR_mount
	system_call sys_umount2, __NR_umount2
	system_call sys_gettid, __NR_gettid
	system_call sys_futex, __NR_futex
	system_call sys_io_setup, __NR_io_setup
	system_call sys_io_getevents, __NR_io_getevents
	system_call sys_io_submit, __NR_io_submit
	system_call sys_set_tid_address, __NR_set_tid_address
	system_call sys_restart_syscall, __NR_restart_syscall
	system_call sys_timer_create, __NR_timer_create
	system_call sys_timer_settime, __NR_timer_settime
	system_call sys_timer_gettime, __NR_timer_gettime
	system_call sys_timer_getoverrun, __NR_timer_getoverrun
	system_call sys_timer_delete, __NR_timer_delete
	system_call sys_clock_gettime, __NR_clock_gettime
	system_call sys_exit_group, __NR_exit_group
	system_call sys_openat, __NR_openat
	system_call sys_waitid, __NR_waitid
	system_call sys_readlinkat, __NR_readlinkat
	system_call sys_set_robust_list, __NR_set_robust_list
	system_call sys_get_robust_list, __NR_get_robust_list
	system_call sys_seccomp, __NR_seccomp
	system_call sys_vmsplice, __NR_vmsplice
	system_call sys_fallocate, __NR_fallocate
	system_call sys_timerfd_settime, __NR_timerfd_settime
	system_call sys_signalfd, __NR_signalfd4
	system_call sys_preadv_raw, __NR_preadv
	system_call sys_rt_tgsigqueueinfo, __NR_rt_tgsigqueueinfo
	system_call sys_fanotify_init, __NR_fanotify_init
	system_call sys_fanotify_mark, __NR_fanotify_mark
	system_call sys_open_by_handle_at, __NR_open_by_handle_at
	system_call sys_setns, __NR_setns
	system_call sys_kcmp, __NR_kcmp
	system_call sys_memfd_create, __NR_memfd_create
	system_call sys_userfaultfd, __NR_userfaultfd
	system_call sys_ppoll, __NR_ppoll
	system_call sys_open_tree, __NR_open_tree
	system_call sys_move_mount, __NR_move_mount
	system_call sys_fsopen, __NR_fsopen
	system_call sys_fsconfig, __NR_fsconfig
	system_call sys_fsmount, __NR_fsmount
	system_call sys_clone3, __NR_clone3
	system_call sys_close_range, __NR_close_range
	system_call sys_pidfd_open, __NR_pidfd_open
	system_call sys_openat2, __NR_openat2
	system_call sys_pidfd_getfd, __NR_pidfd_getfd
	system_call sys_rseq, __NR_rseq
	system_call sys_membarrier, __NR_membarrier

	begin	sys_open
	mov	x3, x2
	mov	x2, x1
	mov	x1, x0
	mov	x0, #AT_FDCWD
	end	sys_open, __NR_openat

	begin	sys_dup2
	mov	x2, #0
	end	sys_dup2, __NR_dup3

	begin	sys_mkdir
	mov	x2, x1
	mov	x1, x0
	mov	x0, #AT_FDCWD
	end	sys_mkdir, __NR_mkdirat

	begin	sys_rmdir
	mov	x2, #AT_REMOVEDIR
	mov	x1, x0
	mov	x0, #AT_FDCWD
	end	sys_rmdir, __NR_unlinkat

	begin	sys_unlink
	mov	x2, #0
	mov	x1, x0
	mov	x0, #AT_FDCWD
	end	sys_unlink, __NR_unlinkat

	.section .note.GNU-stack, "", @progbits
