// SPDX-License-Identifier: GPL-2.0-only
// Data that both sides of the fake driver share: the process that uses a GPU, and a calling process.
#pragma once

#include <cstddef>
#include <cstdint>

#define FAKE [[gnu::visibility("default")]]

namespace fake {

// Values of CUresult.
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

// Values of CUprocessState. The last two came with driver 615.
enum State : int { Running, Locked, Checkpointed, Failed, Checkpointing, Restoring };

// Commands to the driver's thread. Stored: the caller copies the contents, and reports the end.
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

// Faults of the thread.
enum Trouble : int {
    None,
    Dies,    // the thread ends
    Stuck,   // the thread never answers again
    Slow,    // the thread takes 1.5 seconds longer
    Waits,   // the thread waits for the file $FAKE_CUDA_GATE, and answers with the number in it
    Broken,  // memory runs out halfway, and the process stays Failed
};

constexpr int kMostDevices = 4;
constexpr std::size_t kMostAllocations = 64;
constexpr std::uint32_t kMagic = 0xfa4ec0da;
constexpr std::uint64_t kPage = 4096;

// "Device memory": shared memory of a file that the process has mapped.
struct Allocation {
    char* start;
    std::uint64_t size;  // whole pages
    char* staged;        // contents of a checkpointed allocation, unless stored
    int device;
    int unused;
};

// Data that the caller reads and writes in the memory of the process.
struct Control {
    std::uint32_t magic;
    int thread;
    int state;
    int command;
    int trouble;
    std::uint32_t timeoutMs;
    int result;
    int stored;  // contents are in no memory
    int owner;   // the real process: a forked child has a copy of this, and no thread
    int caller;  // pid of the process that began the operation in state Checkpointing or Restoring
    int moving;  // 1: a restore moves contents of device i to device moves[i]
    int moves[kMostDevices];
    int unused;
    std::uint64_t asked;
    std::uint64_t answered;
    std::uint64_t count;
    Allocation allocations[kMostAllocations];
};
extern Control control;

// Return the number of GPUs of this process ($FAKE_CUDA_DEVICES), and the driver's release ($FAKE_CUDA_DRIVER, default
// 580).
int deviceCount();
int driverRelease();

// Returns the device of a context of cuDevicePrimaryCtxRetain(), or -1.
int deviceOf(const void* context);
// Returns true if this process has a context of that device.
bool isRetained(int device);
// Returns true if this process has called cuInit().
bool isInitialized();

// A call of the program. It waits while the process is locked, and a lock waits for it.
class Entered {
public:
    Entered();
    ~Entered();
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;
};

// Returns the address of this library in a process; 0 if it isn't loaded.
std::uintptr_t base(int pid);
// Reads the control block of a process with CUDA state.
bool readControl(int pid, Control& into);
// Returns the tid of the driver's thread in the caller's pid namespace.
int threadOf(int pid, const Control& control);
// Stores the device moves of a restore: pairs of UUIDs, from and to. Returns false for an unknown UUID.
bool setMoves(int pid, const unsigned char* pairs, std::uint32_t count);
// Sends a command to the driver's thread of a process. `name` is its name in $FAKE_CUDA_FAULT.
int ask(int pid, Command command, const char* name, std::uint32_t timeoutMs, Control* answer = nullptr);

}  // namespace fake
