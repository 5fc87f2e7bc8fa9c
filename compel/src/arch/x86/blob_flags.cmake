# Compiler flags for blobs of this processor. No vector registers, because a run doesn't save them. No red zone and no
# shadow stack, because they belong to the task.
set(COMPEL_ARCH_BLOB_CFLAGS -mgeneral-regs-only -mno-red-zone -fcf-protection=none)
