/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * Start and end of a blob's run. The tracer sets the program counter to compel_blob_start, and the stack pointer to
 * 16-byte aligned memory. x0 has the argument, x20 the end signal, and x19 the address of a signal frame or 0. At the
 * end of the run, the thread sends the end signal to itself, and the tracer discards the signal. x21 then has the
 * result, and x22 the pid. The kernel reports this signal even if the user's signal queue is full. A thread without a
 * tracer ignores the signal, and continues through the signal frame by rt_sigreturn(2).
 */
#include <asm/unistd.h>

	.section .text.compel_blob_start, "ax", @progbits
	.globl	compel_blob_start
	.type	compel_blob_start, @function
compel_blob_start:
	bl	blob_entry
	mov	x21, x0
	mov	x8, #__NR_gettid
	svc	#0
	mov	x1, x0
	mov	x8, #__NR_getpid
	svc	#0
	mov	x22, x0
	mov	w2, w20
	mov	x8, #__NR_tgkill
	svc	#0
	.globl	compel_blob_end
	.type	compel_blob_end, @function
compel_blob_end:
	cbnz	x0, 1f
	cbz	x19, 1f
	mov	sp, x19
	mov	x8, #__NR_rt_sigreturn
	svc	#0
1:	udf	#0
/*
 * System call instruction that the tracer uses while the blob is in the process. If the tracer dies in such a call, the
 * return instruction jumps to compel_blob_restorer, whose address is in x30 (remote_syscalls.cpp).
 */
compel_blob_call:
	svc	#0
	ret
compel_blob_restorer:
	mov	x8, #__NR_rt_sigreturn
	svc	#0
	udf	#0
	.size	compel_blob_start, . - compel_blob_start
	.section .note.GNU-stack, "", @progbits
