# Compiler flags for blobs of this processor. Blobs don't use vector registers, because the tracer doesn't save them. They
# call no functions for atomics, which a library would have, and carry no landing pads and signed return addresses.
set(COMPEL_ARCH_BLOB_CFLAGS -mgeneral-regs-only -mno-outline-atomics -mbranch-protection=none)
