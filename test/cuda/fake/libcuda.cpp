// SPDX-License-Identifier: GPL-2.0-only
// A libcuda.so.1 without a GPU, for tests: as much of the CUDA driver API as test/cuda/programs use, and its checkpoint
// calls, in one file for both sides, as in the real library.
//
// As there, a thread in the process that has CUDA state does the work, and a call about a process waits until that
// thread answers: never, if it stands still. What is "on the device" is shared memory of files that the process has
// mapped; a checkpoint copies it to new private memory and closes all devices, and a restore makes new files of it. So
// a criu that leaves out one of the steps finds other contents, or open devices.
//
// $FAKE_CUDA_FAULT, in the environment of the caller: CALL=RESULT, with CALL one of state, lock, checkpoint, restore,
// unlock: that call fails with this result, and nothing is done. RESULT hang: it never comes back. RESULT dies: the
// thread in the process ends in the midst of it.
#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

namespace {

enum Result {
    Success = 0,
    InvalidValue = 1,
    OutOfMemory = 2,
    NotInitialized = 3,
    IllegalState = 401,
    NotReady = 600,
};
enum State : int { Running, Locked, Checkpointed, Failed };
enum Command : int { GetState = 1, Lock, Checkpoint, Restore, Unlock, Die };

constexpr std::uint32_t kMagic = 0xfa4ec0da;

// What the caller reads and writes in the memory of the process.
struct Control {
    std::uint32_t magic;
    int thread;
    int state;
    int command;
    std::uint32_t timeoutMs;
    int result;
    std::uint64_t asked;
    std::uint64_t answered;
};
Control control;

struct Allocation {
    char* start;
    std::size_t size;
    char* staged;
};
std::vector<Allocation>& allocations() {
    static std::vector<Allocation> all;
    return all;
}
std::mutex guard;              // of allocations, and held by a call that does something on the device
std::atomic<int> underWay{0};  // calls that are past the lock
std::vector<int> devices;

volatile int& state() {
    return *const_cast<volatile int*>(&control.state);
}

// A call of the program's: waits while it is locked.
class Entered {
public:
    Entered() {
        for (;;) {
            while (state() != Running)
                usleep(200);
            ++underWay;
            if (state() == Running)
                return;
            --underWay;
        }
    }
    ~Entered() { --underWay; }
};

void openDevices() {
    for (const char* const name : {"/dev/nvidiactl", "/dev/nvidia0"})
        devices.push_back(open(name, O_RDWR | O_CLOEXEC));
}

void onDevice(Allocation& allocation, void* where) {
    const int file = memfd_create("fake-device-memory", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(allocation.size)) != 0)
        abort();
    void* const start =
        mmap(where, allocation.size, PROT_READ | PROT_WRITE, MAP_SHARED | (where != nullptr ? MAP_FIXED : 0), file, 0);
    close(file);
    if (start == MAP_FAILED)
        abort();
    allocation.start = static_cast<char*>(start);
}

int lockCalls(std::uint32_t timeoutMs) {
    if (state() != Running)
        return IllegalState;
    state() = Locked;
    for (std::uint32_t waited = 0; underWay != 0; ++waited) {
        if (timeoutMs != 0 && waited >= timeoutMs) {
            state() = Running;
            return NotReady;
        }
        usleep(1000);
    }
    return Success;
}

int checkpointDevices() {
    if (state() != Locked)
        return IllegalState;
    for (Allocation& each : allocations()) {
        // As the real one, which has the kernel make all pages at once.
        void* const staged =
            mmap(nullptr, each.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (staged == MAP_FAILED)
            return OutOfMemory;
        each.staged = static_cast<char*>(staged);
        memcpy(each.staged, each.start, each.size);
        mmap(each.start, each.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    }
    for (const int device : devices)
        close(device);
    devices.clear();
    state() = Checkpointed;
    return Success;
}

int restoreDevices() {
    if (state() != Checkpointed)
        return IllegalState;
    openDevices();
    for (Allocation& each : allocations()) {
        onDevice(each, each.start);
        memcpy(each.start, each.staged, each.size);
        munmap(each.staged, each.size);
        each.staged = nullptr;
    }
    state() = Locked;
    return Success;
}

int unlockCalls() {
    if (state() != Locked)
        return IllegalState;
    state() = Running;
    return Success;
}

int carryOut(int command, std::uint32_t timeoutMs) {
    switch (command) {
        case GetState:
            return Success;
        case Lock:
            return lockCalls(timeoutMs);
        case Checkpoint:
            return checkpointDevices();
        case Restore:
            return restoreDevices();
        case Unlock:
            return unlockCalls();
        case Die:
            pthread_exit(nullptr);
        default:
            return InvalidValue;
    }
}

void* work(void*) {
    prctl(PR_SET_NAME, "cuda00001400006");
    __atomic_store_n(&control.thread, static_cast<int>(syscall(SYS_gettid)), __ATOMIC_RELEASE);
    __atomic_store_n(&control.magic, kMagic, __ATOMIC_RELEASE);
    for (;;) {
        const std::uint64_t asked = __atomic_load_n(&control.asked, __ATOMIC_ACQUIRE);
        if (asked == __atomic_load_n(&control.answered, __ATOMIC_ACQUIRE)) {
            usleep(300);
            continue;
        }
        control.result = carryOut(control.command, control.timeoutMs);
        __atomic_store_n(&control.answered, asked, __ATOMIC_RELEASE);
    }
    return nullptr;
}

// The start of this library in a process.
std::uintptr_t base(int pid) {
    std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.find("/libcuda.so.1") != std::string::npos)
            return std::stoul(line, nullptr, 16);
    return 0;
}

class Remote {
public:
    explicit Remote(int pid) : pid_(pid) {
        const std::uintptr_t start = base(pid);
        if (start != 0)
            where_ = start + (reinterpret_cast<std::uintptr_t>(&control) - base(getpid()));
    }
    bool read(Control& into) const { return where_ != 0 && move(process_vm_readv, &into, 0, sizeof(into)); }
    template <typename T>
    bool write(T value, std::size_t offset) const {
        return move(process_vm_writev, &value, offset, sizeof(value));
    }

private:
    using Mover = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);
    bool move(Mover mover, void* here, std::size_t offset, std::size_t size) const {
        const iovec mine{here, size};
        const iovec theirs{reinterpret_cast<void*>(where_ + offset), size};
        return mover(pid_, &mine, 1, &theirs, 1, 0) == static_cast<ssize_t>(size);
    }
    int pid_;
    std::uintptr_t where_ = 0;
};

int ask(int pid, Command command, const char* name, std::uint32_t timeoutMs, Control* answer = nullptr) {
    const Remote remote(pid);
    Control found{};
    if (!remote.read(found) || found.magic != kMagic)
        return NotInitialized;
    const char* const fault = getenv("FAKE_CUDA_FAULT");
    const std::size_t length = strlen(name);
    int sent = command;
    if (fault != nullptr && strncmp(fault, name, length) == 0 && fault[length] == '=') {
        const std::string wanted = fault + length + 1;
        if (wanted == "hang")
            for (;;)
                pause();
        if (wanted != "dies")
            return std::stoi(wanted);
        sent = Die;
    }
    if (!remote.write(timeoutMs, offsetof(Control, timeoutMs)) || !remote.write(sent, offsetof(Control, command)) ||
        !remote.write(found.asked + 1, offsetof(Control, asked)))
        return InvalidValue;
    const std::uint64_t number = found.asked + 1;
    while (found.answered != number) {
        usleep(200);
        if (!remote.read(found))
            return InvalidValue;
    }
    if (answer != nullptr)
        *answer = found;
    return found.result;
}

const char* const kKernels[] = {"tick", "fill", "check"};

}  // namespace

extern "C" {

#define FAKE [[gnu::visibility("default")]]

FAKE int cuInit(unsigned) {
    static std::once_flag once;
    std::call_once(once, [] {
        // criu calls this as well, to wake GPUs; it has no devices open here.
        if (getenv("FAKE_CUDA_CALLER") != nullptr)
            return;
        openDevices();
        sigset_t all;
        sigset_t before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        pthread_t thread;
        pthread_create(&thread, nullptr, work, nullptr);
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        while (__atomic_load_n(&control.magic, __ATOMIC_ACQUIRE) != kMagic)
            usleep(100);
    });
    return Success;
}

FAKE int cuGetErrorName(int result, const char** name) {
    *name = result == 801 ? "CUDA_ERROR_NOT_SUPPORTED" : result == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
    return Success;
}

FAKE int cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return ordinal == 0 ? Success : 101;
}

FAKE int cuDevicePrimaryCtxRetain(void** context, int) {
    static int primary;
    *context = &primary;
    return Success;
}

FAKE int cuCtxSetCurrent(void*) {
    return Success;
}

FAKE int cuCtxSynchronize() {
    const Entered entered;
    return Success;
}

FAKE int cuMemAlloc_v2(unsigned long long* memory, std::size_t size) {
    const Entered entered;
    const std::lock_guard lock(guard);
    Allocation added{nullptr, size, nullptr};
    onDevice(added, nullptr);
    allocations().push_back(added);
    *memory = reinterpret_cast<std::uintptr_t>(added.start);
    return Success;
}

FAKE int cuMemHostAlloc(void** memory, std::size_t size, unsigned) {
    *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return *memory == MAP_FAILED ? OutOfMemory : Success;
}

FAKE int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t size) {
    const Entered entered;
    memcpy(reinterpret_cast<void*>(to), from, size);
    return Success;
}

FAKE int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t size) {
    const Entered entered;
    memcpy(to, reinterpret_cast<const void*>(from), size);
    return Success;
}

FAKE int cuModuleLoadData(void** module, const void*) {
    static int loaded;
    *module = &loaded;
    return Success;
}

FAKE int cuModuleGetFunction(const char** function, void*, const char* name) {
    for (const char* const known : kKernels)
        if (strcmp(known, name) == 0) {
            *function = known;
            return Success;
        }
    return 500;
}

FAKE int cuLaunchKernel(const char* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        void*, void** arguments, void**) {
    const Entered entered;
    using Words = volatile std::uint64_t*;
    const auto argument = [&](int index) { return *static_cast<std::uint64_t*>(arguments[index]); };
    auto* const words = reinterpret_cast<Words>(argument(0));
    if (function == kKernels[0]) {
        __atomic_fetch_add(words, 1, __ATOMIC_RELAXED);
        return Success;
    }
    constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15ULL;
    for (std::uint64_t i = 0; i < argument(1); ++i) {
        const std::uint64_t wanted = (i + argument(2)) * kFactor;
        if (function == kKernels[1])
            words[i] = wanted;
        else if (words[i] != wanted)
            __atomic_fetch_add(reinterpret_cast<Words>(argument(3)), 1, __ATOMIC_RELAXED);
    }
    return Success;
}

FAKE int cuCheckpointProcessGetState(int pid, int* found) {
    Control answer{};
    const int result = ask(pid, GetState, "state", 0, &answer);
    *found = answer.state;
    return result;
}

FAKE int cuCheckpointProcessGetRestoreThreadId(int pid, int* thread) {
    Control found{};
    if (!Remote(pid).read(found) || found.magic != kMagic)
        return NotInitialized;
    *thread = found.thread;
    return Success;
}

FAKE int cuCheckpointProcessLock(int pid, const std::uint32_t* arguments) {
    return ask(pid, Lock, "lock", arguments != nullptr ? arguments[0] : 0);
}
FAKE int cuCheckpointProcessCheckpoint(int pid, void*) {
    return ask(pid, Checkpoint, "checkpoint", 0);
}
FAKE int cuCheckpointProcessRestore(int pid, void*) {
    return ask(pid, Restore, "restore", 0);
}
FAKE int cuCheckpointProcessUnlock(int pid, void*) {
    return ask(pid, Unlock, "unlock", 0);
}

}  // extern "C"
