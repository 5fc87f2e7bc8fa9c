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
	bl	parasite_service
	cmp	x0, #0
	b.le	1f
	mov	sp, x0
	mov	x8, #__NR_rt_sigreturn
	svc	#0
1:	brk	#0
	.size	__export_parasite_head_start, . - __export_parasite_head_start
	.section .note.GNU-stack, "", @progbits
