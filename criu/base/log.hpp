// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <bitset>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu {
class Journal;
class Trace;

/// Levels of the option -v. criu writes a message if its level is less than or equal to the log's level.
enum class LogLevel : int { Message = 0, Error = 1, Warning = 2, Info = 3, Debug = 4 };

/// Kind of state that a dump loses. criu/base/loss.hpp lists the kinds; few sources include it, so that a new kind
/// recompiles few of them.
enum class Loss : std::uint8_t;
/// Set of kinds; the number of a bit is the value of the enumerator.
using LossSet = std::bitset<64>;

/// Log of a run. Each line has the form "(SS.UUUUUU) [PID: ]Error (file:line): text", which container runtimes search.
/// criu writes each line by one write(2) to a file with O_APPEND, so forked processes can share the file.
/// Before open(), the object stores messages. open() writes them to the file; flushEarly() writes them to stderr.
class Log {
public:
    Log();
    ~Log();

    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    void setLevel(LogLevel level) noexcept { level_ = level; }
    [[nodiscard]] LogLevel level() const noexcept { return level_; }
    [[nodiscard]] bool enabled(LogLevel level) const noexcept { return level <= level_; }

    /// Creates the log file (mode 0600) and writes the stored messages to it. `path` may be "-" for stdout, or empty
    /// for stderr.
    void open(const std::string& path);
    /// Uses `file`, which the caller has opened, as the log file, and writes the stored messages to it.
    void openAs(UniqueFd file);

    /// Replaces the log's descriptor by the result of `mover`, so that a restored file can use the old number.
    template <typename Mover>
    void move(Mover&& mover) {
        if (fd_)
            fd_ = mover(std::move(fd_));
    }
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

    /// Writes the stored messages to stderr if no log file was opened. main() calls it once when criu exits.
    void flushEarly() noexcept;

    /// Loss that a dry run reports.
    struct KeptLoss {
        Loss kind{};
        std::string text;
        bool refused = false;  ///< true if a dump with these options refuses the loss
    };

    /// Makes the log keep warnings and losses, and not write them. Any thread may log such a warning.
    void keepWarnings();
    /// Returns the kept warnings, each of them once.
    [[nodiscard]] std::vector<std::string> keptWarnings() const;
    /// Returns the kept losses, each of them once.
    [[nodiscard]] std::vector<KeptLoss> keptLosses() const;

    /// Adds `pid` to all later lines, for a restored process. 0 ends this.
    void setPidPrefix(int pid) noexcept { pidPrefix_ = pid; }

    /// Writes the cause of a failure and the path of the log to stderr, for a user who has a log file. Does nothing if
    /// the log goes to stderr, if messages are disabled, or if no error occurred.
    void repeatCause() const noexcept;

    /// Warnings of a run: their number, and the kinds of losses among them.
    struct Warnings {
        std::uint32_t count = 0;
        std::uint64_t losses = 0;  ///< set of kinds, as in LossSet
    };
    /// Returns the warnings that this process has logged, and those of noteWarnings().
    [[nodiscard]] Warnings warnings() const noexcept {
        return {warningCount_.load(std::memory_order_relaxed), lossKinds_.load(std::memory_order_relaxed)};
    }
    /// Adds the warnings that another process of the run has logged.
    void noteWarnings(const Warnings& more) noexcept;
    /// Writes the number of warnings, the kinds of losses and the path of the log to stderr, for a user who has a log
    /// file. Does nothing if the log goes to stderr, or if there was no warning.
    void summarizeWarnings() const noexcept;

    /// Ends the previous stage of this process, and begins the stage `name`. A stage is a line of the log and a span of
    /// the trace.
    void stage(std::string_view name) noexcept;
    /// Ends the current stage.
    void endStages() noexcept;
    /// Adds the name of a forked process to the trace, and removes the stage that it inherited from its parent.
    void beginProcess(std::string_view name) noexcept;
    /// Adds a span to the trace that began at `begin` and ends now. Any thread may call it.
    void noteWork(std::string_view what, std::chrono::steady_clock::time_point begin,
                  std::optional<std::uint64_t> bytes = {}) const noexcept;
    /// Returns the journal of the run. All functions of a journal do nothing before Journal::open().
    [[nodiscard]] Journal& journal() noexcept { return *journal_; }
    /// Returns the trace of the run.
    [[nodiscard]] Trace& trace() noexcept { return *trace_; }
    [[nodiscard]] bool isTraced() const noexcept;

    /// Returns the time since the log was created.
    [[nodiscard]] std::chrono::microseconds elapsed() const noexcept;
    /// Sets the time since the log was created. Needed after the clock of this process has changed.
    void setElapsed(std::chrono::microseconds passed) noexcept;

    /// Cause of a failed run.
    struct Cause {
        int code = 0;             ///< errno; 0 if no system call failed
        std::string text;         ///< text of the error with its contexts; empty if no error occurred
        std::string advice = {};  ///< text of advise()
    };
    /// Returns the first cause that failure() or noteCause() stored. If there is none, returns the first line of level
    /// Error. The service sends it to the client.
    [[nodiscard]] const Cause& cause() const noexcept { return cause_.text.empty() ? firstError_ : cause_; }
    /// Stores the cause that another process of the run logged.
    void noteCause(Cause cause) noexcept;
    /// Removes the stored errors, because another run begins.
    void forgetCause() noexcept;

    template <typename... Args>
    void error(Located<Args...> format, Args&&... args) {
        line(LogLevel::Error, &format.where, fmt::format(format.text, std::forward<Args>(args)...));
    }
    template <typename... Args>
    void warn(Located<Args...> format, Args&&... args) {
        if (enabled(LogLevel::Warning) || kept_)
            line(LogLevel::Warning, &format.where, fmt::format(format.text, std::forward<Args>(args)...));
    }
    /// Makes loss() throw for these kinds, unless keepWarnings() was called.
    void refuseLosses(const LossSet& kinds) noexcept { refused_ = kinds; }
    /// Logs a warning that a dump loses state, or throws Error if refuseLosses() was called with this kind.
    template <typename... Args>
    void loss(Loss kind, Located<Args...> format, Args&&... args) {
        report(kind, fmt::format(format.text, std::forward<Args>(args)...), format.where);
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

    /// Logs an Error and stores it as the cause. No other function logs an Error.
    void failure(const Error& error);
    /// Logs an exception of another library and stores it as the cause.
    void failure(const std::exception& error);

    /// Logs a line of advice after the error of failure(), and makes repeatCause() show it.
    void advise(std::string_view advice);

    /// Writes one line with a given level, for instance a text of a restored process.
    void line(LogLevel level, const std::source_location* where, std::string_view text) noexcept;

private:
    void begin(UniqueFd to, bool isFile);
    [[nodiscard]] std::optional<std::string> pathBesideStderr() const;
    void report(Loss kind, const std::string& text, const std::source_location& where);
    void emit(std::string_view text) noexcept;

    std::chrono::steady_clock::time_point start_;
    LogLevel level_ = LogLevel::Warning;
    int pidPrefix_ = 0;
    bool opened_ = false;
    bool isFile_ = false;  ///< true if the log is a file with a path
    UniqueFd fd_;
    std::string early_;
    struct KeptWarnings;
    std::unique_ptr<KeptWarnings> kept_;  ///< null if the log writes warnings
    LossSet refused_;
    std::atomic<std::uint32_t> warningCount_{0};
    std::atomic<std::uint64_t> lossKinds_{0};
    Cause firstError_;
    Cause cause_;
    std::unique_ptr<Trace> trace_;
    std::unique_ptr<Journal> journal_;
    std::string stage_;  ///< current stage; empty if no stage was begun
    std::chrono::microseconds stageBegan_{};
};

/// Span of the trace for work of the calling thread. It begins with the constructor and ends with the destructor.
class TracedWork {
public:
    /// Begins the span. `log` and the text of `what` must outlive this object.
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
