// SPDX-License-Identifier: LGPL-2.1-only
// Prepares a process for infection, and maps a blob into it.
#include <compel/plugins/std/syscall-codes.h>
#include <compel/ptrace.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "compel/c/control.hpp"

using namespace compel::c;

namespace {

constexpr unsigned mfdExec = 0x10;  // MFD_EXEC of Linux 6.3; earlier kernels allow the execution of all memfds

class Descriptor {
public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() {
        if (fd_ >= 0)
            close(fd_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    [[nodiscard]] int get() const { return fd_; }
    int release() {
        const int fd = fd_;
        fd_ = -1;
        return fd;
    }

private:
    int fd_;
};

__attribute__((format(printf, 3, 4))) int openProc(int pid, int mode, const char* format, ...) {
    char path[128];
    const int length = snprintf(path, sizeof(path), "/proc/%d/", pid);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path + length, sizeof(path) - static_cast<size_t>(length), format, arguments);
    va_end(arguments);
    const int fd = open(path, mode | O_CLOEXEC);
    if (fd < 0)
        compel_print_on_level(COMPEL_LOG_ERROR, "open %s: %s\n", path, strerror(errno));
    return fd;
}

/// Returns the address of the process' first executable mapping; 0 if it has none.
unsigned long findExecutable(int pid) {
    const int fd = openProc(pid, O_RDONLY, "maps");
    FILE* const file = fd < 0 ? nullptr : fdopen(fd, "r");
    if (file == nullptr)
        return 0;
    unsigned long found = 0;
    char line[512];
    while (found == 0 && fgets(line, sizeof(line), file) != nullptr) {
        unsigned long start;
        unsigned long end;
        char rights[8];
        if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) == 3 && rights[2] == 'x' &&
            end - start >= PARASITE_START_AREA_MIN)
            found = start;
    }
    fclose(file);
    return found;
}

/// Creates a socket in the network namespace of the process, because a blob in this namespace can connect to no other.
int socketFor(int pid) {
    const Descriptor theirs(openProc(pid, O_RDONLY, "ns/net"));
    const Descriptor ours(openProc(getpid(), O_RDONLY, "ns/net"));
    struct stat there;
    struct stat here;
    if (theirs.get() < 0 || ours.get() < 0 || fstat(theirs.get(), &there) != 0 || fstat(ours.get(), &here) != 0)
        return failErrno(pid, "look at its network namespace");
    const bool elsewhere = there.st_ino != here.st_ino || there.st_dev != here.st_dev;
    if (elsewhere && setns(theirs.get(), CLONE_NEWNET) != 0)
        return failErrno(pid, "enter its network namespace");
    Descriptor made(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (made.get() < 0)
        failErrno(pid, "make a socket for it");
    if (elsewhere && setns(ours.get(), CLONE_NEWNET) != 0)
        return failErrno(pid, "leave its network namespace");
    return made.release();
}

struct PlainRegisters {
    user_fpregs_struct_t fpregs;
    user_regs_struct_t regs;
};

int savePlain(pid_t, void* to, user_regs_struct_t* regs, user_fpregs_struct_t* fpregs) {
    auto* const plain = static_cast<PlainRegisters*>(to);
    plain->regs = *regs;
    plain->fpregs = *fpregs;
    return 0;
}

int makePlainFrame(void* from, rt_sigframe* frame, rt_sigframe* remote, k_rtsigset_t* mask) {
    auto* const plain = static_cast<PlainRegisters*>(from);
    memset(static_cast<void*>(frame), 0, sizeof(*frame));
    if (sigreturn_prep_regs_plain(frame, &plain->regs, &plain->fpregs) != 0)
        return -1;
    if (mask != nullptr)
        rt_sigframe_copy_sigset(frame, mask);
    return RT_SIGFRAME_HAS_FPU(frame) ? sigreturn_prep_fpu_frame_plain(frame, remote) : 0;
}

int fetchThread(int pid, thread_ctx* context) {
    if (ptrace(PTRACE_GETSIGMASK, pid, sizeof(context->sigmask), &context->sigmask) != 0)
        return failErrno(pid, "ask for its signal mask");
    return ptrace_get_regs(pid, &context->regs);
}

/// Makes the process create a memfd. Returns its descriptor in the process, or -1 after a failure.
int remoteMemfd(parasite_ctl* ctl) {
    char name[8] = "compel";
    // Address of the name, after the system call instruction.
    void* const place = reinterpret_cast<void*>(ctl->ictx.syscall_ip + 8);
    if (ptrace_swap_area(ctl->rpid, place, name, sizeof(name)) != 0)
        return -1;
    long fd = -EINVAL;
    int result = 0;
    for (const unsigned flags : {MFD_CLOEXEC | mfdExec, static_cast<unsigned>(MFD_CLOEXEC)})
        if (result == 0 && fd == -EINVAL)
            result =
                compel_syscall(ctl, __NR_memfd_create, &fd, reinterpret_cast<unsigned long>(place), flags, 0, 0, 0, 0);
    if (ptrace_poke_area(ctl->rpid, name, place, sizeof(name)) != 0)
        return fail(ctl->rpid, "its code is left changed");
    return result == 0 && fd >= 0 ? static_cast<int>(fd) : -1;
}

int mapLocally(parasite_ctl* ctl, int fd) {
    void* const local = mmap(nullptr, ctl->map_length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (local == MAP_FAILED)
        return failErrno(ctl->rpid, "map memory that is shared with it");
    ctl->local_map = local;
    return 0;
}

int mapByMemfd(parasite_ctl* ctl, int remoteFd, int protection) {
    const Descriptor local(ctl->ictx.open_proc(ctl->rpid, O_RDWR, "fd/%d", remoteFd));
    if (local.get() < 0)
        return -1;
    if (ftruncate(local.get(), static_cast<off_t>(ctl->map_length)) != 0)
        return failErrno(ctl->rpid, "make room for a blob");
    const int fixed = ctl->ictx.remote_map_addr != 0 ? MAP_FIXED_NOREPLACE : 0;
    ctl->remote_map = remote_mmap(ctl, reinterpret_cast<void*>(ctl->ictx.remote_map_addr), ctl->map_length, protection,
                                  MAP_SHARED | fixed, remoteFd, 0);
    return ctl->remote_map != nullptr ? mapLocally(ctl, local.get()) : -1;
}

int mapAnonymously(parasite_ctl* ctl, int protection) {
    ctl->remote_map = remote_mmap(ctl, nullptr, ctl->map_length, protection, MAP_ANONYMOUS | MAP_SHARED, -1, 0);
    if (ctl->remote_map == nullptr)
        return -1;
    const auto start = reinterpret_cast<unsigned long>(ctl->remote_map);
    const Descriptor local(ctl->ictx.open_proc(ctl->rpid, O_RDWR, "map_files/%lx-%lx", start, start + ctl->map_length));
    return local.get() < 0 ? -1 : mapLocally(ctl, local.get());
}

/// Maps `size` bytes of memory that this process and the infected process share. After a failure, compel_cure()
/// releases the memory.
int mapShared(parasite_ctl* ctl, unsigned long size) {
    const unsigned long dataOffset = ctl->pblob.hdr.data_off;
    const int protection = dataOffset != 0 ? PROT_READ | PROT_EXEC : PROT_READ | PROT_WRITE | PROT_EXEC;
    ctl->map_length = roundUp(size, static_cast<unsigned long>(sysconf(_SC_PAGESIZE)));
    const int fd = (ctl->ictx.flags & INFECT_NO_MEMFD) != 0 ? -1 : remoteMemfd(ctl);
    int result;
    if (fd >= 0) {
        result = mapByMemfd(ctl, fd, protection);
        long closed;
        if (compel_syscall(ctl, __NR_close, &closed, static_cast<unsigned long>(fd), 0, 0, 0, 0, 0) != 0 || closed != 0)
            result = fail(ctl->rpid, "a memfd is left open in it");
    } else {
        result = mapAnonymously(ctl, protection);
    }
    if (result != 0 || dataOffset == 0)
        return result;
    if (remote_mprotect(ctl, static_cast<char*>(ctl->remote_map) + dataOffset, ctl->map_length - dataOffset,
                        PROT_READ | PROT_WRITE) != 0)
        return fail(ctl->rpid, "make the data of a blob writable");
    return 0;
}

}  // namespace

extern "C" {

parasite_ctl* compel_prepare_noctx(int pid) {
    auto* const ctl = static_cast<parasite_ctl*>(aligned_alloc(alignof(parasite_ctl), sizeof(parasite_ctl)));
    if (ctl == nullptr) {
        fail(pid, "no memory to work on it");
        return nullptr;
    }
    memset(static_cast<void*>(ctl), 0, sizeof(*ctl));
    ctl->tsock = -1;
    ctl->own_sock = -1;
    ctl->ictx.log_fd = -1;
    ctl->ictx.sock = -1;
    ctl->rpid = pid;
    if (fetchThread(pid, &ctl->orig) == 0)
        return ctl;
    free(ctl);
    return nullptr;
}

parasite_ctl* compel_prepare(int pid) {
    parasite_ctl* const ctl = compel_prepare_noctx(pid);
    if (ctl == nullptr)
        return nullptr;
    infect_ctx& context = ctl->ictx;
    context.task_size = compel_task_size();
    context.open_proc = openProc;
    context.save_regs = savePlain;
    context.make_sigframe = makePlainFrame;
    sigaction(SIGCHLD, nullptr, &context.orig_handler);
    context.syscall_ip = findExecutable(pid);
    ctl->own_regs = context.regs_arg = aligned_alloc(alignof(PlainRegisters), sizeof(PlainRegisters));
    ctl->own_sock = context.sock = socketFor(pid);
    if (context.syscall_ip != 0 && context.regs_arg != nullptr && context.sock >= 0)
        return ctl;
    fail(pid, "it can't be infected");
    if (compel_cure_local(ctl) != 0)
        fail(pid, "release its prepared resources");
    return nullptr;
}

int compel_cure_local(parasite_ctl* ctl) {
    int result = 0;
    if (ctl->local_map != nullptr && munmap(ctl->local_map, ctl->map_length) != 0)
        result = failErrno(ctl->rpid, "unmap the memory that was shared with it");
    if (ctl->tsock >= 0)
        close(ctl->tsock);
    if (ctl->own_sock >= 0 && ctl->own_sock == ctl->ictx.sock)
        close(ctl->own_sock);
    free(ctl->own_regs);
    free(ctl);
    return result;
}

parasite_thread_ctl* compel_prepare_thread(parasite_ctl* ctl, int pid) {
    auto* const thread =
        static_cast<parasite_thread_ctl*>(aligned_alloc(alignof(parasite_thread_ctl), sizeof(parasite_thread_ctl)));
    if (thread == nullptr)
        return nullptr;
    memset(static_cast<void*>(thread), 0, sizeof(*thread));
    thread->tid = pid;
    thread->ctl = ctl;
    if (fetchThread(pid, &thread->th) == 0)
        return thread;
    free(thread);
    return nullptr;
}

void compel_release_thread(parasite_thread_ctl* tctl) {
    free(tctl);
}

void compel_relocs_apply(void* mem, void* vbase, parasite_blob_desc* blob) {
    auto* const bytes = static_cast<char*>(mem);
    const auto base = reinterpret_cast<std::uint64_t>(vbase);
    const auto put = [&](unsigned long offset, auto value) { memcpy(bytes + offset, &value, sizeof(value)); };
    put(blob->hdr.args_ptr_off, base + blob->hdr.args_off);
    unsigned long entry = blob->hdr.got_off;
    for (unsigned index = 0; index < blob->hdr.nr_relocs; ++index) {
        const compel_reloc_t& place = blob->hdr.relocs[index];
        const std::uint64_t target = base + static_cast<std::uint64_t>(place.value);
        const std::uint64_t address = target + static_cast<std::uint64_t>(place.addend);
        if ((place.type & COMPEL_TYPE_GOTPCREL) != 0) {
            put(entry, target);
            put(place.offset, static_cast<std::int32_t>(static_cast<long>(entry) - place.offset + place.addend));
            entry += sizeof(std::uint64_t);
        } else if ((place.type & COMPEL_TYPE_LONG) != 0) {
            put(place.offset, address);
        } else {
            put(place.offset, static_cast<std::uint32_t>(address));
        }
    }
}

int compel_infect_no_daemon(parasite_ctl* ctl, unsigned long nr_threads, unsigned long args_size) {
    const auto& blob = ctl->pblob.hdr;
    if (ctl->pblob.parasite_type != COMPEL_BLOB_CHEADER)
        return fail(ctl->rpid, "no blob was given for it");
    if (ctl->ictx.log_fd < 0)
        return fail(ctl->rpid, "infect_ctx::log_fd isn't set");
    if (!arch_can_dump_task(ctl))
        return -1;

    // Order in the memory: the blob with its table of addresses, the arguments, the signal frame by which the blob
    // ends, and the stacks.
    ctl->args_size = args_size > PARASITE_ARG_SIZE_MIN ? args_size : PARASITE_ARG_SIZE_MIN;
    const unsigned long frame = roundUp(blob.args_off + ctl->args_size, alignof(rt_sigframe));
    const unsigned long stack = roundUp(frame + RESTORE_STACK_SIGFRAME, 16) + PARASITE_STACK_SIZE;
    const unsigned long threadStack = stack + PARASITE_STACK_REDZONE + PARASITE_STACK_SIZE;
    const unsigned long size = (nr_threads > 1 ? threadStack : stack) + PARASITE_STACK_REDZONE;
    if (mapShared(ctl, size) != 0)
        return -1;

    auto* const local = static_cast<char*>(ctl->local_map);
    auto* const remote = static_cast<char*>(ctl->remote_map);
    memcpy(local, blob.mem, blob.bsize);
    compel_relocs_apply(local, remote, &ctl->pblob);
    ctl->parasite_ip = reinterpret_cast<unsigned long>(remote + blob.parasite_ip_off);
    ctl->cmd = reinterpret_cast<unsigned int*>(local + blob.cmd_off);
    ctl->args = local + blob.args_off;
    ctl->sigframe = reinterpret_cast<rt_sigframe*>(local + frame);
    ctl->rsigframe = reinterpret_cast<rt_sigframe*>(remote + frame);
    ctl->rstack = remote + stack;
    ctl->r_thread_stack = nr_threads > 1 ? remote + threadStack : nullptr;
    return arch_fetch_sas(ctl, ctl->rsigframe) == 0 ? 0 : fail(ctl->rpid, "ask for its alternative signal stack");
}

int compel_infect(parasite_ctl* ctl, unsigned long nr_threads, unsigned long args_size) {
    return compel_infect_no_daemon(ctl, nr_threads, args_size) == 0 ? compel_start_daemon(ctl) : -1;
}

void* compel_parasite_args_p(parasite_ctl* ctl) {
    return ctl->args;
}

void* compel_parasite_args_s(parasite_ctl* ctl, unsigned long args_size) {
    if (args_size > ctl->args_size) {
        fail(ctl->rpid, "arguments are larger than the room that was asked for at its infection");
        abort();
    }
    return ctl->args;
}

int compel_mode_native(parasite_ctl* ctl) {
    return user_regs_native(&ctl->orig.regs);
}

k_rtsigset_t* compel_task_sigmask(parasite_ctl* ctl) {
    return &ctl->orig.sigmask;
}

k_rtsigset_t* compel_thread_sigmask(parasite_thread_ctl* tctl) {
    return &tctl->th.sigmask;
}

infect_ctx* compel_infect_ctx(parasite_ctl* ctl) {
    return &ctl->ictx;
}

parasite_blob_desc* compel_parasite_blob_desc(parasite_ctl* ctl) {
    return &ctl->pblob;
}

int compel_get_thread_regs(parasite_thread_ctl* tctl, save_regs_t save, void* arg) {
    return compel_get_task_regs(tctl->tid, &tctl->th.regs, &tctl->th.ext_regs, save, arg, tctl->ctl->ictx.flags);
}

std::uint64_t compel_get_leader_sp(parasite_ctl* ctl) {
    return REG_SP(ctl->orig.regs);
}

std::uint64_t compel_get_thread_sp(parasite_thread_ctl* tctl) {
    return REG_SP(tctl->th.regs);
}

std::uint64_t compel_get_leader_ip(parasite_ctl* ctl) {
    return REG_IP(ctl->orig.regs);
}

std::uint64_t compel_get_thread_ip(parasite_thread_ctl* tctl) {
    return REG_IP(tctl->th.regs);
}

void compel_set_leader_ip(parasite_ctl* ctl, std::uint64_t ip) {
    compel::c::setIp(&ctl->orig.regs, ip);
}

void compel_set_thread_ip(parasite_thread_ctl* tctl, std::uint64_t ip) {
    compel::c::setIp(&tctl->th.regs, ip);
}

void compel_get_stack(parasite_ctl* ctl, void** rstack, void** r_thread_stack) {
    if (rstack != nullptr)
        *rstack = ctl->rstack;
    if (r_thread_stack != nullptr)
        *r_thread_stack = ctl->r_thread_stack;
}
}
