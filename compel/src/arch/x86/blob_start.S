/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Start and end of a blob's run. The tracer sets ip to compel_blob_start, the stack pointer to 16-byte aligned memory
 * and %rdi to the argument. The run ends with a SIGTRAP that the thread sends to itself and the tracer swallows: a
 * breakpoint's SIGTRAP is a forced one, for which the kernel resets the task's disposition if it ignores the signal.
 */
#include <asm/unistd.h>

#define SIGTRAP 5

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
	movl	$SIGTRAP, %edx
	movl	$__NR_tgkill, %eax
	syscall
	.globl	compel_blob_end
	.type	compel_blob_end, @function
compel_blob_end:
	ud2
	.size	compel_blob_start, . - compel_blob_start
	.section .note.GNU-stack, "", @progbits
