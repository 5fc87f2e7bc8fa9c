/* SPDX-License-Identifier: LGPL-2.1-only */
/* Extended state of x86: data of the XSAVE instruction in the standard form, as in a signal frame. */
#ifndef COMPEL_ASM_FPU_H
#define COMPEL_ASM_FPU_H

#include <compel/common/compiler.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define FP_MIN_ALIGN_BYTES 64
#define FXSAVE_ALIGN_BYTES 16
#define FXSAVE_SIZE 512
#define XSAVE_HDR_SIZE 64
#define XSAVE_HDR_OFFSET FXSAVE_SIZE
#define XSAVE_YMM_SIZE 256
#define XSAVE_YMM_OFFSET (XSAVE_HDR_OFFSET + XSAVE_HDR_SIZE)
/* Number of bytes for the extended state. No processor needs as much; with AMX, it has 11008 bytes. */
#define XSAVE_SIZE 4 * 4096

/* Marks at the start and the end of a signal frame's extended state that has more than 512 bytes. <signal.h> may also
 * define them. */
#ifndef FP_XSTATE_MAGIC1
#define FP_XSTATE_MAGIC1 0x46505853U
#define FP_XSTATE_MAGIC2 0x46505845U
#endif
#ifndef FP_XSTATE_MAGIC2_SIZE
#define FP_XSTATE_MAGIC2_SIZE sizeof(FP_XSTATE_MAGIC2)
#endif

#define XSTATE_FP 0x1
#define XSTATE_SSE 0x2
#define XSTATE_YMM 0x4
#define XSTATE_CPUID 0x0000000d

/* Components of the extended state: numbers of their bits in XCR0. */
enum xfeature {
    XFEATURE_FP,
    XFEATURE_SSE,
    XFEATURE_YMM,
    XFEATURE_BNDREGS,
    XFEATURE_BNDCSR,
    XFEATURE_OPMASK,
    XFEATURE_ZMM_Hi256,
    XFEATURE_Hi16_ZMM,
    XFEATURE_PT,
    XFEATURE_PKRU,
    XFEATURE_HDC,
    XFEATURE_MAX
};

#define FIRST_EXTENDED_XFEATURE XFEATURE_YMM
#define XFEATURE_MASK_FPSSE 0x003
#define XFEATURE_MASK_AVX512 0x0e0
#define XFEATURE_MASK_USER 0x2ff /* all components except PT and HDC, which only the kernel uses */
#define XCOMP_BV_COMPACTED_FORMAT ((uint64_t)1 << 63)

/* Content of the bytes 464 to 511 of the extended state in a signal frame. */
struct fpx_sw_bytes {
    uint32_t magic1;
    uint32_t extended_size;
    uint64_t xstate_bv;
    uint32_t xstate_size;
    uint32_t padding[7];
};

struct i387_fxsave_struct {
    uint16_t cwd;
    uint16_t swd;
    uint16_t twd;
    uint16_t fop;
    union {
        struct {
            uint64_t rip;
            uint64_t rdp;
        };
        struct {
            uint32_t fip;
            uint32_t fcs;
            uint32_t foo;
            uint32_t fos;
        };
    };
    uint32_t mxcsr;
    uint32_t mxcsr_mask;
    uint32_t st_space[32];  /* 8 registers of 16 bytes */
    uint32_t xmm_space[64]; /* 16 registers of 16 bytes */
    uint32_t padding[12];
    union {
        uint32_t padding1[12];
        uint32_t sw_reserved[12];
    };
} __aligned(FXSAVE_ALIGN_BYTES);

struct xsave_hdr_struct {
    uint64_t xstate_bv;
    uint64_t xcomp_bv;
    uint64_t reserved[6];
} __packed;

struct ymmh_struct {
    uint32_t ymmh_space[64];
} __packed;

/* Shadow stack state, which the XSAVE instruction in user mode doesn't store. */
struct cet_user_state {
    uint64_t cet; /* ARCH_SHSTK_* */
    uint64_t ssp;
};

#define EXTENDED_STATE_AREA_SIZE \
    (XSAVE_SIZE - sizeof(struct i387_fxsave_struct) - sizeof(struct xsave_hdr_struct) - sizeof(struct cet_user_state))

struct xsave_struct {
    struct i387_fxsave_struct i387;
    struct xsave_hdr_struct xsave_hdr;
    union {
        struct ymmh_struct ymmh;
        uint8_t extended_state_area[EXTENDED_STATE_AREA_SIZE];
    };
    struct cet_user_state cet;
} __aligned(FP_MIN_ALIGN_BYTES) __packed;

struct xsave_struct_ia32 {
    struct i387_fxsave_struct i387;
    struct xsave_hdr_struct xsave_hdr;
    union {
        struct ymmh_struct ymmh;
        uint8_t extended_state_area[EXTENDED_STATE_AREA_SIZE];
    };
};

/* Extended state in a signal frame of 64-bit code. */
typedef struct {
    union {
        struct xsave_struct xsave;
        uint8_t __pad[sizeof(struct xsave_struct) + FP_XSTATE_MAGIC2_SIZE];
    };
    uint8_t has_fpu;
} fpu_state_64_t;

/* State of the x87 unit in the format of the FSAVE instruction. */
struct user_i387_ia32_struct {
    uint32_t cwd;
    uint32_t swd;
    uint32_t twd;
    uint32_t fip;
    uint32_t fcs;
    uint32_t foo;
    uint32_t fos;
    uint32_t st_space[20]; /* 8 registers of 10 bytes */
};

/* Extended state in a signal frame of 32-bit code. */
typedef struct {
    struct {
        struct user_i387_ia32_struct i387_ia32;
        uint32_t status;
    } fregs_state;
    union {
        struct xsave_struct_ia32 xsave;
        uint8_t __pad[sizeof(struct xsave_struct) + FP_XSTATE_MAGIC2_SIZE];
    } __aligned(FXSAVE_ALIGN_BYTES);
} __aligned(FXSAVE_ALIGN_BYTES) fpu_state_ia32_t;

typedef struct {
    union {
        fpu_state_64_t fpu_state_64;
        struct {
            uint32_t __pad[2]; /* aligns the XSAVE area below to 64 bytes */
            fpu_state_ia32_t fpu_state_ia32;
        };
    };
    uint8_t has_fpu;
} fpu_state_t;

COMPEL_BEGIN_C

/* Converts x87 registers from the format of FXSAVE to the format of FSAVE, which has a tag of two bits for each
 * register. */
extern void compel_convert_from_fxsr(struct user_i387_ia32_struct* to, struct i387_fxsave_struct* from);

COMPEL_END_C

#endif
