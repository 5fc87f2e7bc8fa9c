# Compiler flags that blobs of this architecture need: none of the vector registers, which aren't saved around a run;
# the shadow stack and the stack below the stack pointer belong to the task.
set(COMPEL_ARCH_BLOB_CFLAGS -mgeneral-regs-only -mno-red-zone -fcf-protection=none)
