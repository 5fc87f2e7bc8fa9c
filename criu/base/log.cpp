// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <mutex>

#include "criu/base/journal.hpp"
#include "criu/base/loss.hpp"
#include "criu/base/names.hpp"
#include "criu/base/printable.hpp"
#include "criu/base/trace.hpp"

namespace criu {
namespace {

constexpr std::size_t kEarlyLimit = 4096;

void writeAll(int fd, std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t written = ::write(fd, text.data(), text.size());
        if (written <= 0) {
            if (written < 0 && errno == EINTR)
                continue;
            return;  // ignores the failure, because criu has no other file for the message
        }
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace

struct Log::KeptWarnings {
    std::mutex mutex;
    std::vector<std::string> texts;
    std::vector<KeptLoss> losses;

    void add(std::string_view text) {
        const std::lock_guard lock(mutex);
        if (std::find(texts.begin(), texts.end(), text) == texts.end())
            texts.emplace_back(text);
    }
    void add(KeptLoss loss) {
        const std::lock_guard lock(mutex);
        if (std::none_of(losses.begin(), losses.end(), [&](const KeptLoss& other) { return other.text == loss.text; }))
            losses.push_back(std::move(loss));
    }
};

Log::Log()
    : start_(std::chrono::steady_clock::now()),
      trace_(std::make_unique<Trace>()),
      journal_(std::make_unique<Journal>()) {}

bool Log::isTraced() const noexcept {
    return trace_->isOn();
}

Log::~Log() {
    endStages();
}

void Log::stage(std::string_view name) noexcept {
    endStages();
    try {
        // Omits the line in restored processes, because one line for each process would hide the other lines.
        if (pidPrefix_ == 0)
            info("Stage: {}", name);
        stage_ = name;
        stageBegan_ = elapsed();
    } catch (const std::exception&) {
        // Ignores the failure: out of memory, so the log lacks one line.
    }
}

void Log::endStages() noexcept {
    if (!stage_.empty())
        trace_->span(stage_, stageBegan_, elapsed());
    stage_.clear();
}

std::chrono::microseconds Log::elapsed() const noexcept {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start_);
}

void Log::setElapsed(std::chrono::microseconds passed) noexcept {
    start_ = std::chrono::steady_clock::now() - passed;
}

void Log::beginProcess(std::string_view name) noexcept {
    stage_.clear();
    trace_->nameProcess(name);
}

void Log::noteWork(std::string_view what, std::chrono::steady_clock::time_point begin,
                   std::optional<std::uint64_t> bytes) const noexcept {
    trace_->span(what, std::chrono::duration_cast<Trace::Time>(begin - start_), elapsed(), bytes);
}

void Log::open(const std::string& path) {
    if (path == "-")
        begin(UniqueFd(sys(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), "use standard output as the log")), false);
    else if (path.empty())
        begin(UniqueFd(sys(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3), "use standard error as the log")), false);
    else
        begin(createLog(path), true);
}

void Log::openAs(UniqueFd file) {
    begin(std::move(file), true);
}

void Log::begin(UniqueFd to, bool isFile) {
    fd_ = std::move(to);
    isFile_ = isFile;
    opened_ = true;
    writeAll(fd_.get(), early_);
    early_.clear();
}

void Log::flushEarly() noexcept {
    if (!opened_)
        writeAll(STDERR_FILENO, early_);
    early_.clear();
}

/// Returns the path of the log file. Returns nothing if the log isn't a file with a path, or if it is stderr.
std::optional<std::string> Log::pathBesideStderr() const {
    struct stat file {};
    struct stat shown {};
    if (!isFile_ || ::fstat(fd_.get(), &file) != 0 ||
        (::fstat(STDERR_FILENO, &shown) == 0 && file.st_dev == shown.st_dev && file.st_ino == shown.st_ino))
        return std::nullopt;
    char path[4096];
    const std::string link = fmt::format("/proc/self/fd/{}", fd_.get());
    const ssize_t length = ::readlink(link.c_str(), path, sizeof(path));
    return length > 0 ? printable({path, static_cast<std::size_t>(length)}) : std::string();
}

void Log::repeatCause() const noexcept {
    if (cause().text.empty() || !enabled(LogLevel::Error))
        return;
    try {
        const std::optional<std::string> path = pathBesideStderr();
        if (!path)
            return;
        writeAll(STDERR_FILENO, fmt::format("Error: {}\n", cause().text));
        if (!cause().advice.empty())
            writeAll(STDERR_FILENO, fmt::format("{}\n", cause().advice));
        if (!path->empty())
            writeAll(STDERR_FILENO, fmt::format("All messages: {}\n", *path));
    } catch (const std::exception&) {
        // Ignores the failure: out of memory, but the log already contains the cause.
    }
}

void Log::noteWarnings(const Warnings& more) noexcept {
    warningCount_ += more.count;
    lossKinds_ |= more.losses;
}

void Log::summarizeWarnings() const noexcept {
    const Warnings found = warnings();
    if (found.count == 0 || !enabled(LogLevel::Warning))
        return;
    try {
        const std::optional<std::string> path = pathBesideStderr();
        if (!path)
            return;
        std::string losses;
        for (const LossKind& each : kLossKinds)
            if ((found.losses >> static_cast<unsigned>(each.kind) & 1U) != 0)
                losses += fmt::format("{}{}", losses.empty() ? " (loss: " : ", ", each.name);
        writeAll(STDERR_FILENO, fmt::format("{} warning{}{}{}: {}\n", found.count, found.count == 1 ? "" : "s", losses,
                                            losses.empty() ? "" : ")", *path));
    } catch (const std::exception&) {
        // Ignores the failure: out of memory, but the log already contains the warnings.
    }
}

void Log::failure(const Error& error) {
    const std::source_location& where = error.where();
    noteCause({error.code(), printable(error.what())});
    line(LogLevel::Error, &where, error.what());
}

void Log::failure(const std::exception& error) {
    if (const auto* own = dynamic_cast<const Error*>(&error)) {
        failure(*own);
        return;
    }
    const auto* const of = dynamic_cast<const compel::Error*>(&error);
    noteCause({of != nullptr ? of->code() : 0, printable(error.what())});
    line(LogLevel::Error, nullptr, error.what());
}

void Log::advise(std::string_view advice) {
    if (enabled(LogLevel::Error))
        line(LogLevel::Message, nullptr, advice);
    cause_.advice = advice;
}

void Log::noteCause(Cause cause) noexcept {
    if (cause_.text.empty())
        cause_ = std::move(cause);
}

void Log::forgetCause() noexcept {
    firstError_ = {};
    cause_ = {};
}

void Log::report(Loss kind, const std::string& text, const std::source_location& where) {
    const bool refused = refused_.test(static_cast<std::size_t>(kind));
    if (kept_) {
        kept_->add({kind, printable(text), refused});
    } else if (refused) {
        Error error(0, text, where);
        error.addHint(remedyOf(kind));
        throw error;
    } else if (enabled(LogLevel::Warning)) {
        lossKinds_ |= std::uint64_t{1} << static_cast<unsigned>(kind);
        line(LogLevel::Warning, &where, fmt::format("{} (loss: {})", text, nameOf(kind)));
    }
}

void Log::keepWarnings() {
    kept_ = std::make_unique<KeptWarnings>();
}

std::vector<std::string> Log::keptWarnings() const {
    const std::lock_guard lock(kept_->mutex);
    return kept_->texts;
}

std::vector<Log::KeptLoss> Log::keptLosses() const {
    const std::lock_guard lock(kept_->mutex);
    return kept_->losses;
}

void Log::line(LogLevel level, const std::source_location* where, std::string_view text) noexcept {
    std::string escaped;
    try {
        if (!isPrintable(text)) {
            escaped = printable(text);
            text = escaped;
        }
        if (level == LogLevel::Error && firstError_.text.empty())
            firstError_.text = text;
        if (level == LogLevel::Warning && kept_) {
            kept_->add(text);
            return;
        }
        if (!enabled(level))
            return;
        if (level == LogLevel::Warning)
            ++warningCount_;

        fmt::memory_buffer out;
        auto to = std::back_inserter(out);
        if (level_ >= LogLevel::Info) {
            const auto us = elapsed().count();
            fmt::format_to(to, "({:02}.{:06}) ", us / 1000000, us % 1000000);
        }
        if (pidPrefix_ != 0)
            fmt::format_to(to, "{:6}: ", pidPrefix_);
        if (level == LogLevel::Error)
            fmt::format_to(to, "Error");
        else if (level == LogLevel::Warning)
            fmt::format_to(to, "Warn ");
        if (level == LogLevel::Error || level == LogLevel::Warning) {
            if (where != nullptr)
                fmt::format_to(to, " ({}:{}): ", sourceName(*where), where->line());
            else
                fmt::format_to(to, ": ");
        }
        fmt::format_to(to, "{}\n", text);
        emit({out.data(), out.size()});
    } catch (const std::exception&) {
        // Out of memory: writes the text without its prefix.
        emit(isPrintable(text) ? text : "Error: no memory to print a message");
        emit("\n");
    }
}

void Log::emit(std::string_view text) noexcept {
    if (opened_) {
        writeAll(fd_.get(), text);
        return;
    }
    try {
        if (early_.size() + text.size() <= kEarlyLimit)
            early_ += text;
        else
            writeAll(STDERR_FILENO, text);
    } catch (const std::exception&) {
        writeAll(STDERR_FILENO, text);
    }
}

}  // namespace criu
