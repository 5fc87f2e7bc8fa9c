/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Entry code of a blob. It calls the service, which returns the stack pointer for sigreturn(2), or the result of a
 * thread's command, which is 0 or negative. After a command, the thread executes a breakpoint instruction, for which
 * the library waits.
 */
#include <asm/unistd.h>

	.section .head.text, "ax", @progbits
	.globl	__export_parasite_head_start
	.type	__export_parasite_head_start, @function
__export_parasite_head_start:
	call	parasite_service
	testq	%rax, %rax
	jle	1f
	movq	%rax, %rsp
	movl	$__NR_rt_sigreturn, %eax
	syscall
1:	int3
	.size	__export_parasite_head_start, . - __export_parasite_head_start
	.section .note.GNU-stack, "", @progbits
