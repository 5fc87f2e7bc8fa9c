// SPDX-License-Identifier: GPL-2.0-only
// What both sides of the played driver know: the process that uses a GPU, and a caller that is another process.
#pragma once

#include <cstddef>
#include <cstdint>

#define FAKE [[gnu::visibility("default")]]

namespace fake {

// CUresult.
enum Result {
    Success = 0,
    InvalidValue = 1,
    OutOfMemory = 2,
    NotInitialized = 3,
    InvalidDevice = 101,
    InvalidContext = 201,
    OsError = 304,
    IllegalState = 401,
    NotFound = 500,
    NotReady = 600,
};

// CUprocessState; the last two came with driver 615.
enum State : int { Running, Locked, Checkpointed, Failed, Checkpointing, Restoring };

// Of the driver's thread. Stored: contents are for the caller to copy, who says when it is done.
enum Command : int {
    GetState = 1,
    Lock,
    Checkpoint,
    Restore,
    Unlock,
    CheckpointStored,
    CheckpointDone,
    RestoreStored,
    RestoreDone,
};

// What the thread does besides.
enum Trouble : int {
    None,
    Dies,    // it ends
    Stuck,   // it never answers again
    Slow,    // it takes a second and a half more
    Waits,   // it waits until there is a file $FAKE_CUDA_GATE, and answers with the number in it, if there is one
    Broken,  // out of memory with half of it done: the process is Failed for good
};

constexpr int kMostDevices = 4;
constexpr std::size_t kMostAllocations = 64;
constexpr std::uint32_t kMagic = 0xfa4ec0da;
constexpr std::uint64_t kPage = 4096;

// Memory "on a device": shared memory of a file that the process has mapped.
struct Allocation {
    char* start;
    std::uint64_t size;  // whole pages
    char* staged;        // while it is checkpointed, unless it is stored
    int device;
    int unused;
};

// What the caller reads and writes in the memory of the process.
struct Control {
    std::uint32_t magic;
    int thread;
    int state;
    int command;
    int trouble;
    std::uint32_t timeoutMs;
    int result;
    int stored;  // contents are in nobody's memory
    int owner;   // a child that was forked from it has all this, too, and no thread
    int caller;  // of an operation that is under way
    int moving;  // 1: a restore puts what was on device i on device moves[i]
    int moves[kMostDevices];
    int unused;
    std::uint64_t asked;
    std::uint64_t answered;
    std::uint64_t count;
    Allocation allocations[kMostAllocations];
};
extern Control control;

// Of this process: how many GPUs there are ($FAKE_CUDA_DEVICES), and which driver is played ($FAKE_CUDA_DRIVER: 580).
int deviceCount();
int driverRelease();

// The device of a context that cuDevicePrimaryCtxRetain() gave out, or -1.
int deviceOf(const void* context);
// Whether this process has a context of that device.
bool isRetained(int device);
// Whether cuInit() was called here.
bool isInitialized();

// A call of the program's: waits while the process is locked, and is waited for by a lock.
class Entered {
public:
    Entered();
    ~Entered();
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;
};

// The start of this library in a process; 0 if it isn't there.
std::uintptr_t base(int pid);
// Of a process with CUDA state.
bool readControl(int pid, Control& into);
// The thread that works in it for the driver, by the number that the caller sees.
int threadOf(int pid, const Control& control);
// As a restore was given them: pairs of UUIDs, from and to. False if one is of no device.
bool setMoves(int pid, const unsigned char* pairs, std::uint32_t count);
// Has the driver's thread of a process do something; `name` is what $FAKE_CUDA_FAULT calls it.
int ask(int pid, Command command, const char* name, std::uint32_t timeoutMs, Control* answer = nullptr);

}  // namespace fake
