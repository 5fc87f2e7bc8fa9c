// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/injection.hpp>
#include <compel/process.hpp>
#include <compel/standby.hpp>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "criu/engine/fwd.hpp"

namespace criu::files {
class RestoredFile;
}

namespace criu::pie {
class RemoteData;
class StepList;
}  // namespace criu::pie

namespace criu::engine {

/// Stand-by of a process' threads (compel::Standby). If criu is killed, each thread executes a program of the
/// interpreter in the restorer's area: before the commit of the restore, it ends the process; afterwards, it continues
/// with its own registers.
class ProcessStandby {
public:
    /// Changes nothing. `process` and `area` must outlive the object. `stopSignal`: the process stops itself by this
    /// signal after the commit, because it was stopped at the dump; 0 for a process that runs. `leaderEnds`: the main
    /// thread ends after the commit, so another thread stops the process and finishes files.
    ProcessStandby(compel::FrozenProcess& process, const compel::InjectedMemory& area, int stopSignal,
                   bool leaderEnds) noexcept
        : process_(process), area_(area), stopSignal_(stopSignal), leaderEnds_(leaderEnds) {}

    /// Lets the process finish a file before any thread continues. `fd`: descriptor of the process. The file must
    /// outlive the object. Call it before prepare().
    void addFile(int fd, const files::RestoredFile& file) { files_.emplace_back(fd, &file); }

    /// Sets the syscall user dispatch that a thread has after the stand-by. Call it before prepare().
    void addDispatch(const compel::Tracee& thread, const compel::UserDispatch& dispatch) {
        dispatches_.emplace(thread.tid(), dispatch);
    }
    /// Writes frames and programs to the process. Returns false if a thread can't be in stand-by. Throws Error.
    [[nodiscard]] bool prepare();
    /// Begins the stand-by of all threads. Throws Error.
    void begin();
    /// Ends the stand-by of the leader only, also if it throws Error.
    void endLeader();
    /// Ends the stand-by of all threads, of the leader as the last one. After a failure, continues with the other
    /// threads, then throws the first Error.
    void end();

private:
    [[nodiscard]] bool addSteps(pie::StepList& steps, pie::RemoteData& data, std::uint64_t continued) const;

    struct Prepared {
        compel::Standby thread;
        std::uint64_t program;
        std::uint64_t stackTop;
    };

    compel::FrozenProcess& process_;
    const compel::InjectedMemory& area_;
    int stopSignal_;
    bool leaderEnds_;
    std::vector<std::pair<int, const files::RestoredFile*>> files_;
    std::map<pid_t, compel::UserDispatch> dispatches_;  ///< settings by tid
    std::vector<Prepared> threads_;
};

}  // namespace criu::engine
