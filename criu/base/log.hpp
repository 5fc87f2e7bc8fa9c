// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu {
class Trace;

/// Levels as -v counts them: a message is written when its level is at most the log's.
enum class LogLevel : int { Message = 0, Error = 1, Warning = 2, Info = 3, Debug = 4 };

/// Where a run's messages go. Line shape (container runtimes search for it):
/// "(SS.UUUUUU) [PID: ]Error (file:line): text". Lines are written with one write(2), so processes forked from the
/// run may share the file (it is opened with O_APPEND). Messages before open() are kept, and written to the file
/// when it opens, or to stderr by flushEarly().
class Log {
public:
    Log();
    ~Log();

    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    void setLevel(LogLevel level) noexcept { level_ = level; }
    [[nodiscard]] LogLevel level() const noexcept { return level_; }
    [[nodiscard]] bool enabled(LogLevel level) const noexcept { return level <= level_; }

    /// Opens the log file (truncated, mode 0600) and writes what was kept so far. `path` "-" means stdout; empty
    /// means stderr.
    void open(const std::string& path);
    /// The same with a file that has been made by its caller.
    void openAs(UniqueFd file);

    /// Exchanges the log's descriptor for what `mover` makes of it: to keep numbers free for restored files.
    template <typename Mover>
    void move(Mover&& mover) {
        if (fd_)
            fd_ = mover(std::move(fd_));
    }
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

    /// Writes kept early messages to stderr when no file was opened. Called once at exit.
    void flushEarly() noexcept;

    /// From now on lines carry this pid (used in restored tasks). 0 removes it.
    void setPidPrefix(int pid) noexcept { pidPrefix_ = pid; }

    /// For whoever started a command with a log file and looks at the terminal: why it failed, and where the log is, on
    /// standard error. Does nothing if that is the log, if messages aren't wanted at all, or if nothing went wrong.
    void repeatCause() const noexcept;

    /// A part of the work of this process begins, and the one before ends: a line of the log, and a span of the trace.
    void stage(std::string_view name) noexcept;
    /// The last of them ends.
    void endStages() noexcept;
    /// In a process that was forked: it has no part of the work yet, and this name in the trace.
    void beginProcess(std::string_view name) noexcept;
    /// In whatever thread: a span of the trace that ends now.
    void noteWork(std::string_view what, std::chrono::steady_clock::time_point begin,
                  std::optional<std::uint64_t> bytes = {}) const noexcept;
    /// The timeline of the run, with spans of other things as well.
    [[nodiscard]] Trace& trace() noexcept { return *trace_; }
    [[nodiscard]] bool isTraced() const noexcept;

    /// Time since the log was started.
    [[nodiscard]] std::chrono::microseconds elapsed() const noexcept;
    /// So much has passed, whatever the clock says: it was changed.
    void setElapsed(std::chrono::microseconds passed) noexcept;

    /// Why a run failed, as far as it was logged.
    struct Cause {
        int code = 0;      ///< errno; 0 if no system call failed
        std::string text;  ///< with contexts; "" if nothing went wrong
    };
    /// What failure() or noteCause() was first given; without either, the first error written. What a client is told.
    [[nodiscard]] const Cause& cause() const noexcept { return cause_.text.empty() ? firstError_ : cause_; }
    /// Takes over what another process of the run has logged as its failure.
    void noteCause(Cause cause) noexcept;
    /// Another run begins, which has nothing to do with errors so far.
    void forgetCause() noexcept;

    template <typename... Args>
    void error(Located<Args...> format, Args&&... args) {
        line(LogLevel::Error, &format.where, fmt::format(format.text, std::forward<Args>(args)...));
    }
    template <typename... Args>
    void warn(Located<Args...> format, Args&&... args) {
        if (enabled(LogLevel::Warning))
            line(LogLevel::Warning, &format.where, fmt::format(format.text, std::forward<Args>(args)...));
    }
    template <typename... Args>
    void info(Located<Args...> format, Args&&... args) {
        if (enabled(LogLevel::Info))
            line(LogLevel::Info, nullptr, fmt::format(format.text, std::forward<Args>(args)...));
    }
    template <typename... Args>
    void debug(Located<Args...> format, Args&&... args) {
        if (enabled(LogLevel::Debug))
            line(LogLevel::Debug, nullptr, fmt::format(format.text, std::forward<Args>(args)...));
    }

    /// The one place where an Error becomes a log line.
    void failure(const Error& error);
    /// Same for an exception of another library.
    void failure(const std::exception& error);

    /// Writes one line of a given level, e.g. text that came from a restored task.
    void line(LogLevel level, const std::source_location* where, std::string_view text) noexcept;

private:
    void begin(UniqueFd to, bool isFile);
    void emit(std::string_view text) noexcept;

    std::chrono::steady_clock::time_point start_;
    LogLevel level_ = LogLevel::Warning;
    int pidPrefix_ = 0;
    bool opened_ = false;
    bool isFile_ = false;  ///< one with a name
    UniqueFd fd_;
    std::string early_;
    Cause firstError_;
    Cause cause_;
    std::unique_ptr<Trace> trace_;
    std::string stage_;  ///< that the trace is about
    std::chrono::microseconds stageBegan_{};
};

/// Adds what the calling thread does while this lives to the trace of the run.
class TracedWork {
public:
    /// Both outlive this object.
    TracedWork(const Log& log, std::string_view what) noexcept
        : log_(log), what_(what), begin_(std::chrono::steady_clock::now()) {}
    ~TracedWork() { log_.noteWork(what_, begin_); }
    TracedWork(const TracedWork&) = delete;
    TracedWork& operator=(const TracedWork&) = delete;

private:
    const Log& log_;
    std::string_view what_;
    std::chrono::steady_clock::time_point begin_;
};

}  // namespace criu
