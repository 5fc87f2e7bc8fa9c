// SPDX-License-Identifier: GPL-2.0-only
// Checkpoint calls of the fake driver, which another process makes.
//
// $FAKE_CUDA_FAULT in the caller's environment is CALL=WHAT, or CALL=WHAT@N for the Nth call only; several are
// separated by commas. CALL is state, thread, lock, checkpoint, restore, unlock or complete. WHAT is a number: the call
// fails with this result and does nothing. Or it is hang: the call never returns. For dies, stuck, slow, waits and
// broken see Trouble.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

#include "control.hpp"
#include "storage.hpp"

namespace fake {
namespace {

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

// Returns true if a fault may happen. With FAKE_CUDA_ONCE faults happen once over all processes, and create this file.
bool mayFail() {
    const char* const once = getenv("FAKE_CUDA_ONCE");
    if (once == nullptr)
        return true;
    const int file = open(once, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (file >= 0)
        close(file);
    return file >= 0;
}

// Returns the fault of this call; empty for none. Each process counts its calls.
std::string wantedFault(const std::string& name) {
    static std::mutex counting;
    static std::map<std::string, int> calls;
    const std::lock_guard lock(counting);
    const int number = ++calls[name];
    const char* const faults = getenv("FAKE_CUDA_FAULT");
    std::istringstream each(faults == nullptr ? "" : faults);
    for (std::string fault; std::getline(each, fault, ',');) {
        const std::size_t at = fault.find('@');
        if (fault.rfind(name + "=", 0) == 0 && (at == std::string::npos || std::stoi(fault.substr(at + 1)) == number) &&
            mayFail())
            return fault.substr(name.size() + 1, at == std::string::npos ? at : at - name.size() - 1);
    }
    return {};
}

Trouble troubleCalled(const std::string& name) {
    static const std::map<std::string, Trouble> known{
        {"dies", Dies}, {"stuck", Stuck}, {"slow", Slow}, {"waits", Waits}, {"broken", Broken}};
    const auto found = known.find(name);
    return found == known.end() ? None : found->second;
}

}  // namespace

std::uintptr_t base(int pid) {
    std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.find("/libcuda.so.1") != std::string::npos)
            return std::stoul(line, nullptr, 16);
    return 0;
}

// Returns the id of a process or thread in its innermost pid namespace; 0 if it has ended.
int innermost(const std::string& folder) {
    std::ifstream status(folder + "/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("NSpid:", 0) == 0)
            return std::stoi(line.substr(line.find_last_of(" \t")));
    return 0;
}

namespace {

// Holds a lock, so that one process calls at a time, as in the real driver. The lock is a socket name, which the kernel
// frees when the holder ends.
class Turn {
public:
    explicit Turn(int pid) : socket_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const std::string folder = "/proc/" + std::to_string(pid);
        struct stat space {};
        stat((folder + "/ns/pid").c_str(), &space);
        const std::string name = "fake-cuda-" + std::to_string(space.st_ino) + "-" + std::to_string(innermost(folder));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        name.copy(address.sun_path + 1, sizeof(address.sun_path) - 1);
        const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
        while (bind(socket_, reinterpret_cast<const sockaddr*>(&address), size) != 0 && errno == EADDRINUSE)
            usleep(200);
    }
    ~Turn() { close(socket_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

private:
    int socket_;
};

}  // namespace

bool readControl(int pid, Control& into) {
    return Remote(pid).read(into) && into.magic == kMagic && into.owner == innermost("/proc/" + std::to_string(pid));
}

int threadOf(int pid, const Control& control) {
    std::error_code gone;
    for (const auto& each : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone))
        if (innermost(each.path()) == control.thread)
            return std::stoi(each.path().filename());
    return 0;
}

bool setMoves(int pid, const unsigned char* pairs, std::uint32_t count) {
    Control moves{};
    moves.moving = count != 0 ? 1 : 0;
    for (int& each : moves.moves)
        each = -1;
    for (std::uint32_t i = 0; i < count; ++i, pairs += 32) {
        if (pairs[0] != 0xfa || pairs[16] != 0xfa || pairs[15] >= kMostDevices || pairs[31] >= deviceCount())
            return false;
        moves.moves[pairs[15]] = pairs[31];
    }
    const Remote remote(pid);
    bool written = remote.write(moves.moving, offsetof(Control, moving));
    for (int i = 0; i < kMostDevices; ++i)
        written = written &&
                  remote.write(moves.moves[i], offsetof(Control, moves) + sizeof(int) * static_cast<std::size_t>(i));
    return written;
}

int ask(int pid, Command command, const char* name, std::uint32_t timeoutMs, Control* answer) {
    const Remote remote(pid);
    Control found{};
    if (!readControl(pid, found))
        return NotInitialized;
    const std::string fault = wantedFault(name);
    while (fault == "hang")
        pause();
    const Trouble trouble = troubleCalled(fault);
    if (!fault.empty() && trouble == None)
        return std::stoi(fault);
    const Turn turn(pid);
    if (!remote.read(found))
        return InvalidValue;
    // The request of a process that has ended.
    while (found.asked != found.answered) {
        usleep(200);
        if (!remote.read(found))
            return InvalidValue;
    }
    // Other calls keep the caller: the driver's thread reverts the operation when that process has ended.
    const bool beginsOperation = command == CheckpointStored || command == RestoreStored;
    if (!remote.write(timeoutMs, offsetof(Control, timeoutMs)) ||
        !remote.write<int>(command, offsetof(Control, command)) ||
        !remote.write<int>(trouble, offsetof(Control, trouble)) ||
        (beginsOperation && !remote.write<int>(getpid(), offsetof(Control, caller))) ||
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

}  // namespace fake

using namespace fake;

#ifndef FAKE_CUDA_WITHOUT_CHECKPOINTS

extern "C" {

FAKE int cuCheckpointProcessGetState(int pid, int* found) {
    Control answer{};
    const int result = ask(pid, GetState, "state", 0, &answer);
    *found = answer.state;
    return result;
}

FAKE int cuCheckpointProcessGetRestoreThreadId(int pid, int* thread) {
    Control found{};
    if (!readControl(pid, found))
        return NotInitialized;
    *thread = threadOf(pid, found);
    return Success;
}

FAKE int cuCheckpointProcessLock(int pid, const std::uint32_t* arguments) {
    return ask(pid, Lock, "lock", arguments != nullptr ? arguments[0] : 0);
}

FAKE int cuCheckpointProcessCheckpoint(int pid, const CheckpointArguments* arguments) {
    if (arguments == nullptr || arguments->storage == nullptr)
        return ask(pid, Checkpoint, "checkpoint", 0);
    return beginStorage(pid, CheckpointStored, "checkpoint", arguments->storage);
}

FAKE int cuCheckpointProcessRestore(int pid, const RestoreArguments* arguments) {
    const bool moves = arguments != nullptr && arguments->count != 0;
    if (!setMoves(pid, moves ? static_cast<const unsigned char*>(arguments->pairs) : nullptr,
                  moves ? arguments->count : 0))
        return InvalidValue;
    if (arguments == nullptr || arguments->storage == nullptr)
        return ask(pid, Restore, "restore", 0);
    return beginStorage(pid, RestoreStored, "restore", arguments->storage);
}

FAKE int cuCheckpointProcessUnlock(int pid, void*) {
    return ask(pid, Unlock, "unlock", 0);
}

FAKE int cuCheckpointOperationComplete(void* handle) {
    return completeStorage(handle);
}

}  // extern "C"

#endif
