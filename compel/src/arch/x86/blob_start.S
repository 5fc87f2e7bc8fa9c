/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Start and end of a blob's run. The tracer sets the instruction pointer to compel_blob_start, and the stack pointer to
 * 16-byte aligned memory. %rdi has the argument, %r13 the end signal, and %r12 the address of a signal frame or 0. At
 * the end of the run, the thread sends the end signal to itself, and the tracer discards the signal. The kernel reports
 * this signal even if the user's signal queue is full. A thread without a tracer ignores the signal, and continues
 * through the signal frame by rt_sigreturn(2).
 */
#include <asm/unistd.h>

	.section .text.compel_blob_start, "ax", @progbits
	.globl	compel_blob_start
	.type	compel_blob_start, @function
compel_blob_start:
	call	blob_entry
	movq	%rax, %rbx
	movl	$__NR_gettid, %eax
	syscall
	movq	%rax, %rsi
	movl	$__NR_getpid, %eax
	syscall
	movq	%rax, %rdi
	movl	%r13d, %edx
	movl	$__NR_tgkill, %eax
	syscall
	.globl	compel_blob_end
	.type	compel_blob_end, @function
compel_blob_end:
	testq	%rax, %rax
	jnz	1f
	testq	%r12, %r12
	jz	1f
	leaq	8(%r12), %rsp
	movl	$__NR_rt_sigreturn, %eax
	syscall
1:	ud2
/*
 * System call instruction that the tracer uses while the blob is in the process. If the tracer dies in such a call, the
 * return instruction jumps to compel_blob_restorer, whose address is in the signal frame (remote_syscalls.cpp).
 */
compel_blob_call:
	syscall
	ret
compel_blob_restorer:
	movq	$__NR_rt_sigreturn, %rax
	syscall
	ud2
	.size	compel_blob_start, . - compel_blob_start
	.section .note.GNU-stack, "", @progbits
