# Compiler flags for blobs of this processor. Blobs don't use vector registers, because the tracer doesn't save them.
# They don't use the red zone and the shadow stack, because these belong to the task.
set(COMPEL_ARCH_BLOB_CFLAGS -mgeneral-regs-only -mno-red-zone -fcf-protection=none)
