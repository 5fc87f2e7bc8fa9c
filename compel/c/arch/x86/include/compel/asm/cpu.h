/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * CPUID data of an x86 processor. A feature has the number word * 32 + bit, which images contain. Words and names are
 * those of Linux 4.19 (arch/x86/include/asm/cpufeatures.h), except for word 11, which keeps its earlier meaning.
 */
#ifndef COMPEL_ASM_CPU_H
#define COMPEL_ASM_CPU_H

#include <compel/asm/fpu.h>
#include <stdint.h>

/* Words of cpuinfo_x86::x86_capability. */
enum cpuid_leafs {
    CPUID_1_EDX = 0,
    CPUID_8000_0001_EDX = 1,
    CPUID_8086_0001_EDX = 2,
    CPUID_LNX_1 = 3,
    CPUID_1_ECX = 4,
    CPUID_C000_0001_EDX = 5,
    CPUID_8000_0001_ECX = 6,
    CPUID_LNX_2 = 7,
    CPUID_LNX_3 = 8,
    CPUID_7_0_EBX = 9,
    CPUID_D_1_EAX = 10,
    CPUID_7_0_ECX = 11,
    CPUID_F_1_EDX = 12,
    CPUID_8000_0008_EBX = 13,
    CPUID_6_EAX = 14,
    CPUID_8000_000A_EDX = 15,
    CPUID_F_0_EDX = 16,
    CPUID_8000_0007_EBX = 17,
    CPUID_7_0_EDX = 18,
};

#define NCAPINTS_V1 12 /* number of words in images of old CRIU versions */
#define NCAPINTS_V2 19
#define NCAPINTS NCAPINTS_V2
#define NCAPINTS_BITS (NCAPINTS * 32)

/* Word 0: CPUID 1, EDX */
#define X86_FEATURE_FPU (0 * 32 + 0)
#define X86_FEATURE_VME (0 * 32 + 1)
#define X86_FEATURE_DE (0 * 32 + 2)
#define X86_FEATURE_PSE (0 * 32 + 3)
#define X86_FEATURE_TSC (0 * 32 + 4)
#define X86_FEATURE_MSR (0 * 32 + 5)
#define X86_FEATURE_PAE (0 * 32 + 6)
#define X86_FEATURE_MCE (0 * 32 + 7)
#define X86_FEATURE_CX8 (0 * 32 + 8)
#define X86_FEATURE_APIC (0 * 32 + 9)
#define X86_FEATURE_SEP (0 * 32 + 11)
#define X86_FEATURE_MTRR (0 * 32 + 12)
#define X86_FEATURE_PGE (0 * 32 + 13)
#define X86_FEATURE_MCA (0 * 32 + 14)
#define X86_FEATURE_CMOV (0 * 32 + 15)
#define X86_FEATURE_PAT (0 * 32 + 16)
#define X86_FEATURE_PSE36 (0 * 32 + 17)
#define X86_FEATURE_PN (0 * 32 + 18)
#define X86_FEATURE_CLFLUSH (0 * 32 + 19)
#define X86_FEATURE_DS (0 * 32 + 21)
#define X86_FEATURE_ACPI (0 * 32 + 22)
#define X86_FEATURE_MMX (0 * 32 + 23)
#define X86_FEATURE_FXSR (0 * 32 + 24)
#define X86_FEATURE_XMM (0 * 32 + 25)
#define X86_FEATURE_XMM2 (0 * 32 + 26)
#define X86_FEATURE_SELFSNOOP (0 * 32 + 27)
#define X86_FEATURE_HT (0 * 32 + 28)
#define X86_FEATURE_ACC (0 * 32 + 29)
#define X86_FEATURE_IA64 (0 * 32 + 30)
#define X86_FEATURE_PBE (0 * 32 + 31)

/* Word 1: CPUID 0x80000001, EDX, without the bits that word 0 also has */
#define X86_FEATURE_SYSCALL (1 * 32 + 11)
#define X86_FEATURE_MP (1 * 32 + 19)
#define X86_FEATURE_NX (1 * 32 + 20)
#define X86_FEATURE_MMXEXT (1 * 32 + 22)
#define X86_FEATURE_FXSR_OPT (1 * 32 + 25)
#define X86_FEATURE_GBPAGES (1 * 32 + 26)
#define X86_FEATURE_RDTSCP (1 * 32 + 27)
#define X86_FEATURE_LM (1 * 32 + 29)
#define X86_FEATURE_3DNOWEXT (1 * 32 + 30)
#define X86_FEATURE_3DNOW (1 * 32 + 31)

/* Word 2: CPUID 0x80860001, EDX */
#define X86_FEATURE_RECOVERY (2 * 32 + 0)
#define X86_FEATURE_LONGRUN (2 * 32 + 1)
#define X86_FEATURE_LRTI (2 * 32 + 3)

/* Word 3: bits that Linux defines, and that no single CPUID leaf contains */
#define X86_FEATURE_CXMMX (3 * 32 + 0)
#define X86_FEATURE_K6_MTRR (3 * 32 + 1)
#define X86_FEATURE_CYRIX_ARR (3 * 32 + 2)
#define X86_FEATURE_CENTAUR_MCR (3 * 32 + 3)
#define X86_FEATURE_K8 (3 * 32 + 4)
#define X86_FEATURE_K7 (3 * 32 + 5)
#define X86_FEATURE_P3 (3 * 32 + 6)
#define X86_FEATURE_P4 (3 * 32 + 7)
#define X86_FEATURE_CONSTANT_TSC (3 * 32 + 8)
#define X86_FEATURE_UP (3 * 32 + 9)
#define X86_FEATURE_ART (3 * 32 + 10)
#define X86_FEATURE_ARCH_PERFMON (3 * 32 + 11)
#define X86_FEATURE_PEBS (3 * 32 + 12)
#define X86_FEATURE_BTS (3 * 32 + 13)
#define X86_FEATURE_SYSCALL32 (3 * 32 + 14)
#define X86_FEATURE_SYSENTER32 (3 * 32 + 15)
#define X86_FEATURE_REP_GOOD (3 * 32 + 16)
#define X86_FEATURE_MFENCE_RDTSC (3 * 32 + 17)
#define X86_FEATURE_LFENCE_RDTSC (3 * 32 + 18)
#define X86_FEATURE_ACC_POWER (3 * 32 + 19)
#define X86_FEATURE_NOPL (3 * 32 + 20)
#define X86_FEATURE_ALWAYS (3 * 32 + 21)
#define X86_FEATURE_XTOPOLOGY (3 * 32 + 22)
#define X86_FEATURE_TSC_RELIABLE (3 * 32 + 23)
#define X86_FEATURE_NONSTOP_TSC (3 * 32 + 24)
#define X86_FEATURE_CPUID (3 * 32 + 25)
#define X86_FEATURE_EXTD_APICID (3 * 32 + 26)
#define X86_FEATURE_AMD_DCM (3 * 32 + 27)
#define X86_FEATURE_APERFMPERF (3 * 32 + 28)
#define X86_FEATURE_NONSTOP_TSC_S3 (3 * 32 + 30)
#define X86_FEATURE_TSC_KNOWN_FREQ (3 * 32 + 31)

/* Word 4: CPUID 1, ECX */
#define X86_FEATURE_XMM3 (4 * 32 + 0)
#define X86_FEATURE_PCLMULQDQ (4 * 32 + 1)
#define X86_FEATURE_DTES64 (4 * 32 + 2)
#define X86_FEATURE_MWAIT (4 * 32 + 3)
#define X86_FEATURE_DSCPL (4 * 32 + 4)
#define X86_FEATURE_VMX (4 * 32 + 5)
#define X86_FEATURE_SMX (4 * 32 + 6)
#define X86_FEATURE_EST (4 * 32 + 7)
#define X86_FEATURE_TM2 (4 * 32 + 8)
#define X86_FEATURE_SSSE3 (4 * 32 + 9)
#define X86_FEATURE_CID (4 * 32 + 10)
#define X86_FEATURE_SDBG (4 * 32 + 11)
#define X86_FEATURE_FMA (4 * 32 + 12)
#define X86_FEATURE_CX16 (4 * 32 + 13)
#define X86_FEATURE_XTPR (4 * 32 + 14)
#define X86_FEATURE_PDCM (4 * 32 + 15)
#define X86_FEATURE_PCID (4 * 32 + 17)
#define X86_FEATURE_DCA (4 * 32 + 18)
#define X86_FEATURE_XMM4_1 (4 * 32 + 19)
#define X86_FEATURE_XMM4_2 (4 * 32 + 20)
#define X86_FEATURE_X2APIC (4 * 32 + 21)
#define X86_FEATURE_MOVBE (4 * 32 + 22)
#define X86_FEATURE_POPCNT (4 * 32 + 23)
#define X86_FEATURE_TSC_DEADLINE_TIMER (4 * 32 + 24)
#define X86_FEATURE_AES (4 * 32 + 25)
#define X86_FEATURE_XSAVE (4 * 32 + 26)
#define X86_FEATURE_OSXSAVE (4 * 32 + 27)
#define X86_FEATURE_AVX (4 * 32 + 28)
#define X86_FEATURE_F16C (4 * 32 + 29)
#define X86_FEATURE_RDRAND (4 * 32 + 30)
#define X86_FEATURE_HYPERVISOR (4 * 32 + 31)

/* Word 5: CPUID 0xc0000001, EDX */
#define X86_FEATURE_XSTORE (5 * 32 + 2)
#define X86_FEATURE_XSTORE_EN (5 * 32 + 3)
#define X86_FEATURE_XCRYPT (5 * 32 + 6)
#define X86_FEATURE_XCRYPT_EN (5 * 32 + 7)
#define X86_FEATURE_ACE2 (5 * 32 + 8)
#define X86_FEATURE_ACE2_EN (5 * 32 + 9)
#define X86_FEATURE_PHE (5 * 32 + 10)
#define X86_FEATURE_PHE_EN (5 * 32 + 11)
#define X86_FEATURE_PMM (5 * 32 + 12)
#define X86_FEATURE_PMM_EN (5 * 32 + 13)

/* Word 6: CPUID 0x80000001, ECX */
#define X86_FEATURE_LAHF_LM (6 * 32 + 0)
#define X86_FEATURE_CMP_LEGACY (6 * 32 + 1)
#define X86_FEATURE_SVM (6 * 32 + 2)
#define X86_FEATURE_EXTAPIC (6 * 32 + 3)
#define X86_FEATURE_CR8_LEGACY (6 * 32 + 4)
#define X86_FEATURE_ABM (6 * 32 + 5)
#define X86_FEATURE_SSE4A (6 * 32 + 6)
#define X86_FEATURE_MISALIGNSSE (6 * 32 + 7)
#define X86_FEATURE_3DNOWPREFETCH (6 * 32 + 8)
#define X86_FEATURE_OSVW (6 * 32 + 9)
#define X86_FEATURE_IBS (6 * 32 + 10)
#define X86_FEATURE_XOP (6 * 32 + 11)
#define X86_FEATURE_SKINIT (6 * 32 + 12)
#define X86_FEATURE_WDT (6 * 32 + 13)
#define X86_FEATURE_LWP (6 * 32 + 15)
#define X86_FEATURE_FMA4 (6 * 32 + 16)
#define X86_FEATURE_TCE (6 * 32 + 17)
#define X86_FEATURE_NODEID_MSR (6 * 32 + 19)
#define X86_FEATURE_TBM (6 * 32 + 21)
#define X86_FEATURE_TOPOEXT (6 * 32 + 22)
#define X86_FEATURE_PERFCTR_CORE (6 * 32 + 23)
#define X86_FEATURE_PERFCTR_NB (6 * 32 + 24)
#define X86_FEATURE_BPEXT (6 * 32 + 26)
#define X86_FEATURE_PTSC (6 * 32 + 27)
#define X86_FEATURE_PERFCTR_LLC (6 * 32 + 28)
#define X86_FEATURE_MWAITX (6 * 32 + 29)

/* Word 9: CPUID 7.0, EBX */
#define X86_FEATURE_FSGSBASE (9 * 32 + 0)
#define X86_FEATURE_TSC_ADJUST (9 * 32 + 1)
#define X86_FEATURE_BMI1 (9 * 32 + 3)
#define X86_FEATURE_HLE (9 * 32 + 4)
#define X86_FEATURE_AVX2 (9 * 32 + 5)
#define X86_FEATURE_SMEP (9 * 32 + 7)
#define X86_FEATURE_BMI2 (9 * 32 + 8)
#define X86_FEATURE_ERMS (9 * 32 + 9)
#define X86_FEATURE_INVPCID (9 * 32 + 10)
#define X86_FEATURE_RTM (9 * 32 + 11)
#define X86_FEATURE_CQM (9 * 32 + 12)
#define X86_FEATURE_MPX (9 * 32 + 14)
#define X86_FEATURE_RDT_A (9 * 32 + 15)
#define X86_FEATURE_AVX512F (9 * 32 + 16)
#define X86_FEATURE_AVX512DQ (9 * 32 + 17)
#define X86_FEATURE_RDSEED (9 * 32 + 18)
#define X86_FEATURE_ADX (9 * 32 + 19)
#define X86_FEATURE_SMAP (9 * 32 + 20)
#define X86_FEATURE_AVX512IFMA (9 * 32 + 21)
#define X86_FEATURE_CLFLUSHOPT (9 * 32 + 23)
#define X86_FEATURE_CLWB (9 * 32 + 24)
#define X86_FEATURE_INTEL_PT (9 * 32 + 25)
#define X86_FEATURE_AVX512PF (9 * 32 + 26)
#define X86_FEATURE_AVX512ER (9 * 32 + 27)
#define X86_FEATURE_AVX512CD (9 * 32 + 28)
#define X86_FEATURE_SHA_NI (9 * 32 + 29)
#define X86_FEATURE_AVX512BW (9 * 32 + 30)
#define X86_FEATURE_AVX512VL (9 * 32 + 31)

/* Word 10: CPUID 13.1, EAX */
#define X86_FEATURE_XSAVEOPT (10 * 32 + 0)
#define X86_FEATURE_XSAVEC (10 * 32 + 1)
#define X86_FEATURE_XGETBV1 (10 * 32 + 2)
#define X86_FEATURE_XSAVES (10 * 32 + 3)

/* Word 11: CPUID 7.0, ECX */
#define X86_FEATURE_PREFETCHWT1 (11 * 32 + 0)
#define X86_FEATURE_AVX512VBMI (11 * 32 + 1)
#define X86_FEATURE_UMIP (11 * 32 + 2)
#define X86_FEATURE_PKU (11 * 32 + 3)
#define X86_FEATURE_OSPKE (11 * 32 + 4)
#define X86_FEATURE_AVX512_VBMI2 (11 * 32 + 6)
#define X86_FEATURE_SHSTK (11 * 32 + 7)
#define X86_FEATURE_GFNI (11 * 32 + 8)
#define X86_FEATURE_VAES (11 * 32 + 9)
#define X86_FEATURE_VPCLMULQDQ (11 * 32 + 10)
#define X86_FEATURE_AVX512_VNNI (11 * 32 + 11)
#define X86_FEATURE_AVX512_BITALG (11 * 32 + 12)
#define X86_FEATURE_TME (11 * 32 + 13)
#define X86_FEATURE_AVX512_VPOPCNTDQ (11 * 32 + 14)
#define X86_FEATURE_LA57 (11 * 32 + 16)
#define X86_FEATURE_RDPID (11 * 32 + 22)
#define X86_FEATURE_CLDEMOTE (11 * 32 + 25)

/* Word 12: CPUID 15.1, EDX */
#define X86_FEATURE_CQM_OCCUP_LLC (12 * 32 + 0)
#define X86_FEATURE_CQM_MBM_TOTAL (12 * 32 + 1)
#define X86_FEATURE_CQM_MBM_LOCAL (12 * 32 + 2)

/* Word 13: CPUID 0x80000008, EBX */
#define X86_FEATURE_CLZERO (13 * 32 + 0)
#define X86_FEATURE_IRPERF (13 * 32 + 1)
#define X86_FEATURE_XSAVEERPTR (13 * 32 + 2)
#define X86_FEATURE_IBPB (13 * 32 + 12)
#define X86_FEATURE_IBRS (13 * 32 + 14)
#define X86_FEATURE_STIBP (13 * 32 + 15)

/* Word 14: CPUID 6, EAX */
#define X86_FEATURE_DTHERM (14 * 32 + 0)
#define X86_FEATURE_IDA (14 * 32 + 1)
#define X86_FEATURE_ARAT (14 * 32 + 2)
#define X86_FEATURE_PLN (14 * 32 + 4)
#define X86_FEATURE_PTS (14 * 32 + 6)
#define X86_FEATURE_HWP (14 * 32 + 7)
#define X86_FEATURE_HWP_NOTIFY (14 * 32 + 8)
#define X86_FEATURE_HWP_ACT_WINDOW (14 * 32 + 9)
#define X86_FEATURE_HWP_EPP (14 * 32 + 10)
#define X86_FEATURE_HWP_PKG_REQ (14 * 32 + 11)
#define X86_FEATURE_HDC (14 * 32 + 13)

/* Word 15: CPUID 0x8000000a, EDX */
#define X86_FEATURE_NPT (15 * 32 + 0)
#define X86_FEATURE_LBRV (15 * 32 + 1)
#define X86_FEATURE_SVML (15 * 32 + 2)
#define X86_FEATURE_NRIPS (15 * 32 + 3)
#define X86_FEATURE_TSCRATEMSR (15 * 32 + 4)
#define X86_FEATURE_VMCBCLEAN (15 * 32 + 5)
#define X86_FEATURE_FLUSHBYASID (15 * 32 + 6)
#define X86_FEATURE_DECODEASSISTS (15 * 32 + 7)
#define X86_FEATURE_PAUSEFILTER (15 * 32 + 10)
#define X86_FEATURE_PFTHRESHOLD (15 * 32 + 12)
#define X86_FEATURE_AVIC (15 * 32 + 13)
#define X86_FEATURE_V_VMSAVE_VMLOAD (15 * 32 + 15)
#define X86_FEATURE_VGIF (15 * 32 + 16)

/* Word 16: CPUID 15.0, EDX */
#define X86_FEATURE_CQM_LLC (16 * 32 + 1)

/* Word 17: CPUID 0x80000007, EBX */
#define X86_FEATURE_OVERFLOW_RECOV (17 * 32 + 0)
#define X86_FEATURE_SUCCOR (17 * 32 + 1)
#define X86_FEATURE_SMCA (17 * 32 + 3)

/* Word 18: CPUID 7.0, EDX */
#define X86_FEATURE_AVX512_4VNNIW (18 * 32 + 2)
#define X86_FEATURE_AVX512_4FMAPS (18 * 32 + 3)
#define X86_FEATURE_PCONFIG (18 * 32 + 18)
#define X86_FEATURE_SPEC_CTRL (18 * 32 + 26)
#define X86_FEATURE_INTEL_STIBP (18 * 32 + 27)
#define X86_FEATURE_ARCH_CAPABILITIES (18 * 32 + 29)
#define X86_FEATURE_SPEC_CTRL_SSBD (18 * 32 + 31)

enum { X86_VENDOR_INTEL = 0, X86_VENDOR_AMD = 1, X86_VENDOR_MAX };

struct cpuinfo_x86 {
    uint8_t x86_family;
    uint8_t x86_vendor; /* X86_VENDOR_* */
    uint8_t x86_model;
    uint8_t x86_mask; /* stepping of the processor */
    uint32_t x86_capability[NCAPINTS];
    uint32_t x86_power;
    uint32_t extended_cpuid_level;
    int cpuid_level;
    char x86_vendor_id[16];
    char x86_model_id[64];

    /* Extended state: bit mask of the components, and offset and size of each component in the standard form (xstate_)
     * and in the compacted form (xstate_comp_) of XSAVE. If the processor lacks a component, all bits of its offset and
     * size are set. */
    uint64_t xfeatures_mask;
    uint32_t xsave_size_max;
    uint32_t xsave_size;
    uint32_t xstate_offsets[XFEATURE_MAX];
    uint32_t xstate_sizes[XFEATURE_MAX];
    uint32_t xsaves_size;
    uint32_t xstate_comp_offsets[XFEATURE_MAX];
    uint32_t xstate_comp_sizes[XFEATURE_MAX];
};

typedef struct cpuinfo_x86 compel_cpuinfo_t;

#endif
