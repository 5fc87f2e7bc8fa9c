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

/// Levels of option -v. criu writes a message if its level is at most the log's level.
enum class LogLevel : int { Message = 0, Error = 1, Warning = 2, Info = 3, Debug = 4 };

/// Log of a run. Lines have the form "(SS.UUUUUU) [PID: ]Error (file:line): text", for which container runtimes
/// search. Each line is one write(2) to a file with O_APPEND, so forked processes share the file. Messages before
/// open() are stored; open() writes them to the file, or flushEarly() to stderr.
class Log {
public:
    Log();
    ~Log();

    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    void setLevel(LogLevel level) noexcept { level_ = level; }
    [[nodiscard]] LogLevel level() const noexcept { return level_; }
    [[nodiscard]] bool enabled(LogLevel level) const noexcept { return level <= level_; }

    /// Opens the log file (truncated, mode 0600) and writes the stored messages. `path` "-" means stdout; empty
    /// means stderr.
    void open(const std::string& path);
    /// Uses a file that the caller has opened, and writes the stored messages.
    void openAs(UniqueFd file);

    /// Replaces the log's descriptor by the result of `mover`, which frees its number for restored files.
    template <typename Mover>
    void move(Mover&& mover) {
        if (fd_)
            fd_ = mover(std::move(fd_));
    }
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

    /// Writes stored messages to stderr if no file was opened. main() calls it once at exit.
    void flushEarly() noexcept;

    /// Puts this pid into all later lines, for restored processes. 0 removes it.
    void setPidPrefix(int pid) noexcept { pidPrefix_ = pid; }

    /// Prints the cause of a failure and the log's path to stderr, for a user with a log file. Does nothing if
    /// stderr is the log, if messages are off, or if there was no error.
    void repeatCause() const noexcept;

    /// Begins a stage of this process' work and ends the previous one: a line of the log, and a span of the trace.
    void stage(std::string_view name) noexcept;
    /// Ends the last stage.
    void endStages() noexcept;
    /// Names a forked process in the trace, and forgets the stage that it inherited.
    void beginProcess(std::string_view name) noexcept;
    /// Adds a span that ends now to the trace. Any thread may call it.
    void noteWork(std::string_view what, std::chrono::steady_clock::time_point begin,
                  std::optional<std::uint64_t> bytes = {}) const noexcept;
    /// Returns the timeline of the run.
    [[nodiscard]] Trace& trace() noexcept { return *trace_; }
    [[nodiscard]] bool isTraced() const noexcept;

    /// Returns the time since the start of the log.
    [[nodiscard]] std::chrono::microseconds elapsed() const noexcept;
    /// Sets the time since the start of the log, after a change of the clock.
    void setElapsed(std::chrono::microseconds passed) noexcept;

    /// Cause of a failed run, as far as criu logged it.
    struct Cause {
        int code = 0;      ///< errno; 0 if no system call failed
        std::string text;  ///< with contexts; empty without a failure
    };
    /// Returns the first cause that failure() or noteCause() got; without one, the first error line. The service
    /// sends it to the client.
    [[nodiscard]] const Cause& cause() const noexcept { return cause_.text.empty() ? firstError_ : cause_; }
    /// Takes over the cause that another process of the run logged.
    void noteCause(Cause cause) noexcept;
    /// Forgets all errors, because another run begins.
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

    /// Logs an Error and notes it as the cause. No other function turns an Error into a log line.
    void failure(const Error& error);
    /// Logs an exception of another library and notes it as the cause.
    void failure(const std::exception& error);

    /// Writes one line with a given level, for instance text of a restored process.
    void line(LogLevel level, const std::source_location* where, std::string_view text) noexcept;

private:
    void begin(UniqueFd to, bool isFile);
    void emit(std::string_view text) noexcept;

    std::chrono::steady_clock::time_point start_;
    LogLevel level_ = LogLevel::Warning;
    int pidPrefix_ = 0;
    bool opened_ = false;
    bool isFile_ = false;  ///< a file with a path
    UniqueFd fd_;
    std::string early_;
    Cause firstError_;
    Cause cause_;
    std::unique_ptr<Trace> trace_;
    std::string stage_;  ///< stage of the present span of the trace
    std::chrono::microseconds stageBegan_{};
};

/// A span of the run's trace, for work of the calling thread. It lasts as long as this object.
class TracedWork {
public:
    /// Begins the span. `log` and `what` must outlive this object.
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
