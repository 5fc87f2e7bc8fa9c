// SPDX-License-Identifier: GPL-2.0-only
// A libcuda.so.1 without a GPU, for tests. It has the part of the CUDA driver API that test/cuda/programs and criu use,
// in one library for both sides like the real one.
//
// This file is the side of the process that uses a GPU. A thread of the driver in that process does the work, as in the
// real one. A call about a process waits until that thread answers, and forever if the thread is stopped. "Device
// memory" is shared memory of files that the process has mapped. A checkpoint copies it to new private memory and
// closes all devices. A restore makes new files. So a criu that omits a step finds other contents or open devices.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "control.hpp"

namespace fake {

Control control;

namespace {

std::mutex guard;              // protects the allocations
std::atomic<int> underWay{0};  // number of calls that have passed the lock
std::vector<int> devices;
std::atomic<bool> initialized{false};
std::atomic<int> retained[kMostDevices];
thread_local int current = 0;

volatile int& state() {
    return *const_cast<volatile int*>(&control.state);
}

// A mapping of a device, as processes of the real driver have some.
constexpr std::size_t kSeenBytes = 1 << 16;
void* seen = nullptr;

void reserve(void* start, std::size_t size) {
    mmap(start, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void openDevices() {
    devices.push_back(open("/dev/nvidia-caps/nvidia-cap1", O_RDONLY | O_CLOEXEC));
    devices.push_back(open("/dev/nvidiactl", O_RDWR | O_CLOEXEC));
    for (int i = 0; i < deviceCount(); ++i)
        devices.push_back(open(("/dev/nvidia" + std::to_string(i)).c_str(), O_RDWR | O_CLOEXEC));
    void* const at = mmap(seen, kSeenBytes, PROT_READ | PROT_WRITE, MAP_SHARED | (seen != nullptr ? MAP_FIXED : 0),
                          devices.back(), 0);
    seen = at == MAP_FAILED ? nullptr : at;
}

void closeDevices() {
    if (seen != nullptr)
        reserve(seen, kSeenBytes);
    for (const int device : devices)
        close(device);
    devices.clear();
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

void reserveOnly(const Allocation& each) {
    reserve(each.start, each.size);
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
    for (std::uint64_t i = 0; i < control.count; ++i) {
        Allocation& each = control.allocations[i];
        // The real driver makes the kernel allocate all pages at once, too.
        void* const staged =
            mmap(nullptr, each.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (staged == MAP_FAILED)
            return OutOfMemory;
        each.staged = static_cast<char*>(staged);
        memcpy(each.staged, each.start, each.size);
        reserveOnly(each);
    }
    closeDevices();
    state() = Checkpointed;
    return Success;
}

// Moves memory to other devices. Each device with memory of the process must be named.
int moveAll() {
    for (std::uint64_t i = 0; control.moving != 0 && i < control.count; ++i) {
        const int to = control.moves[control.allocations[i].device];
        if (to < 0 || to >= deviceCount())
            return InvalidValue;
        control.allocations[i].device = to;
    }
    return Success;
}

int restoreDevices() {
    if (state() != Checkpointed)
        return IllegalState;
    if (control.stored != 0 || moveAll() != Success)
        return InvalidValue;
    openDevices();
    for (std::uint64_t i = 0; i < control.count; ++i) {
        Allocation& each = control.allocations[i];
        onDevice(each, each.start);
        memcpy(each.start, each.staged, each.size);
        munmap(each.staged, each.size);
        each.staged = nullptr;
    }
    state() = Locked;
    return Success;
}

int change(State from, State to) {
    if (state() != from)
        return IllegalState;
    state() = to;
    return Success;
}

// The caller has copied the contents, so devices drop them.
int checkpointDone() {
    if (state() != Checkpointing)
        return IllegalState;
    for (std::uint64_t i = 0; i < control.count; ++i)
        reserveOnly(control.allocations[i]);
    closeDevices();
    control.stored = 1;
    state() = Checkpointed;
    return Success;
}

int restoreStored() {
    if (state() != Checkpointed)
        return IllegalState;
    if (control.stored == 0 || moveAll() != Success)
        return InvalidValue;
    openDevices();
    for (std::uint64_t i = 0; i < control.count; ++i)
        onDevice(control.allocations[i], control.allocations[i].start);
    state() = Restoring;
    return Success;
}

int restoreDone() {
    const int result = change(Restoring, Locked);
    if (result == Success)
        control.stored = 0;
    return result;
}

int carryOut(int command, std::uint32_t timeoutMs) {
    if (state() == Failed && command != GetState)
        return IllegalState;
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
            return change(Locked, Running);
        case CheckpointStored:
            return change(Locked, Checkpointing);
        case CheckpointDone:
            return checkpointDone();
        case RestoreStored:
            return restoreStored();
        case RestoreDone:
            return restoreDone();
        default:
            return InvalidValue;
    }
}

void injectFault(int trouble) {
    // Not pthread_exit(3), which loads libgcc_s: a thread that criu has stopped may hold the locks that this needs.
    if (trouble == Dies)
        syscall(SYS_exit, 0);
    while (trouble == Stuck)
        pause();
    if (trouble == Slow)
        usleep(1500000);
}

// Waits for the gate's file and returns the number in it; Success if it is empty.
int awaitGate() {
    const char* const gate = getenv("FAKE_CUDA_GATE");
    int file = -1;
    while (gate != nullptr && (file = open(gate, O_RDONLY | O_CLOEXEC)) < 0)
        usleep(1000);
    char text[16] = {};
    const ssize_t length = file < 0 ? 0 : read(file, text, sizeof(text) - 1);
    close(file);
    return length > 0 ? atoi(text) : Success;
}

int answer(int trouble) {
    injectFault(trouble);
    if (trouble == Broken) {
        state() = Failed;
        return OsError;
    }
    const int refused = trouble == Waits ? awaitGate() : Success;
    return refused != Success ? refused : carryOut(control.command, control.timeoutMs);
}

// Reverts an operation whose caller has ended.
void giveUpForDead() {
    if (state() != Checkpointing && state() != Restoring)
        return;
    if (kill(control.caller, 0) != 0 && errno == ESRCH)
        state() = state() == Checkpointing ? Locked : Checkpointed;
}

void* work(void*) {
    prctl(PR_SET_NAME, "cuda00001400006");
    control.owner = getpid();
    __atomic_store_n(&control.thread, static_cast<int>(syscall(SYS_gettid)), __ATOMIC_RELEASE);
    __atomic_store_n(&control.magic, kMagic, __ATOMIC_RELEASE);
    for (;;) {
        const std::uint64_t asked = __atomic_load_n(&control.asked, __ATOMIC_ACQUIRE);
        if (asked == __atomic_load_n(&control.answered, __ATOMIC_ACQUIRE)) {
            giveUpForDead();
            usleep(300);
            continue;
        }
        control.result = answer(control.trouble);
        __atomic_store_n(&control.answered, asked, __ATOMIC_RELEASE);
    }
    return nullptr;
}

void begin() {
    initialized = true;
    // criu calls cuInit() to wake GPUs, and has no devices open here.
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
}

int numberIn(const char* variable, int otherwise) {
    const char* const value = getenv(variable);
    return value == nullptr ? otherwise : atoi(value);
}

}  // namespace

Entered::Entered() {
    for (;;) {
        while (state() != Running)
            usleep(200);
        ++underWay;
        if (state() == Running)
            return;
        --underWay;
    }
}
Entered::~Entered() {
    --underWay;
}

int deviceCount() {
    return numberIn("FAKE_CUDA_DEVICES", 1);
}
int driverRelease() {
    return numberIn("FAKE_CUDA_DRIVER", 580);
}
int deviceOf(const void* context) {
    for (int i = 0; i < kMostDevices; ++i)
        if (context == &retained[i])
            return i;
    return -1;
}
bool isRetained(int device) {
    return retained[device] > 0;
}
bool isInitialized() {
    return initialized;
}

}  // namespace fake

using namespace fake;

extern "C" {

FAKE int cuInit(unsigned) {
    static std::once_flag once;
    std::call_once(once, begin);
    return Success;
}

FAKE int cuDriverGetVersion(int* version) {
    *version = driverRelease() >= 615 ? 13040 : driverRelease() >= 580 ? 13000 : 12080;
    return Success;
}

FAKE int cuGetErrorName(int result, const char** name) {
    *name = result == 801 ? "CUDA_ERROR_NOT_SUPPORTED" : result == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
    return Success;
}

FAKE int cuDeviceGetCount(int* count) {
    *count = deviceCount();
    return isInitialized() ? Success : NotInitialized;
}

FAKE int cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return ordinal >= 0 && ordinal < deviceCount() ? Success : InvalidDevice;
}

FAKE int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
    memset(uuid, 0xfa, 16);
    uuid[15] = static_cast<unsigned char>(device);
    return Success;
}

// For tests: returns one bit for each device on which a process has memory.
FAKE int fakeDevicesOf(int pid) {
    Control found{};
    int devices = 0;
    for (std::uint64_t i = 0; readControl(pid, found) && i < found.count; ++i)
        devices |= 1 << found.allocations[i].device;
    return devices;
}

// For tests: returns 1 if the driver's thread of a process is working.
FAKE int fakeIsBusy(int pid) {
    Control found{};
    return readControl(pid, found) && found.asked != found.answered ? 1 : 0;
}

// For tests: returns the first word of a process' Nth device allocation; -1 if there is none.
FAKE long long fakeWordOf(int pid, int number) {
    Control found{};
    if (!readControl(pid, found) || static_cast<std::uint64_t>(number) >= found.count)
        return -1;
    long long word = -1;
    const iovec here{&word, sizeof(word)};
    const iovec there{found.allocations[number].start, sizeof(word)};
    return process_vm_readv(pid, &here, 1, &there, 1, 0) == sizeof(word) ? word : -1;
}

FAKE int cuDevicePrimaryCtxRetain(void** context, int device) {
    ++retained[device];
    *context = &retained[device];
    return isInitialized() ? Success : NotInitialized;
}

FAKE int cuDevicePrimaryCtxRelease_v2(int device) {
    --retained[device];
    return Success;
}

FAKE int cuCtxSetCurrent(void* context) {
    current = deviceOf(context);
    return current < 0 ? InvalidContext : Success;
}

FAKE int cuCtxGetDevice(int* device) {
    *device = current;
    return current < 0 ? InvalidContext : Success;
}

FAKE int cuCtxSynchronize() {
    const Entered entered;
    return Success;
}

FAKE int cuMemAlloc_v2(unsigned long long* memory, std::size_t size) {
    const Entered entered;
    const std::lock_guard lock(guard);
    if (control.count == kMostAllocations)
        return OutOfMemory;
    Allocation added{nullptr, (size + kPage - 1) / kPage * kPage, nullptr, current, 0};
    onDevice(added, nullptr);
    control.allocations[control.count++] = added;
    *memory = reinterpret_cast<std::uintptr_t>(added.start);
    return Success;
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

}  // extern "C"
