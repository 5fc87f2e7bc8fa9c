// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/trace.hpp"

#include <unistd.h>

#include <iterator>

#include "criu/base/error.hpp"
#include "criu/base/json.hpp"
#include "criu/base/names.hpp"

namespace criu {
Trace::~Trace() {
    if (isOn() && opener_ == ::getpid())
        write(R"({"ph":"M","name":"trace_complete","pid":0,"tid":0,"args":{}})"
              "\n]\n");
}

void Trace::open(const std::string& path) {
    fd_ = createLog(path);
    opener_ = ::getpid();
    write("[\n");
}

void Trace::nameProcess(std::string_view name) const noexcept {
    if (!isOn())
        return;
    try {
        write(fmt::format(
            "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{0},\"tid\":{0},\"args\":{{\"name\":{1}}}}},\n",
            ::getpid(), jsonString(name)));
    } catch (const std::exception&) {
        // Ignores the failure: out of memory, so the trace lacks a name.
    }
}

void Trace::span(std::string_view what, Time begin, Time end, std::optional<std::uint64_t> bytes) const noexcept {
    if (!isOn())
        return;
    try {
        fmt::memory_buffer out;
        fmt::format_to(std::back_inserter(out), "{{\"ph\":\"X\",\"name\":{},\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{}",
                       jsonString(what), ::getpid(), ::gettid(), begin.count(), (end - begin).count());
        if (bytes)
            fmt::format_to(std::back_inserter(out), ",\"args\":{{\"bytes\":{}}}", *bytes);
        fmt::format_to(std::back_inserter(out), "}},\n");
        write({out.data(), out.size()});
    } catch (const std::exception&) {
        // Ignores the failure: out of memory, so the trace lacks a span.
    }
}

void Trace::moment(std::string_view what, Time at) const noexcept {
    if (!isOn())
        return;
    try {
        write(fmt::format("{{\"ph\":\"i\",\"s\":\"g\",\"name\":{},\"pid\":{},\"tid\":{},\"ts\":{}}},\n",
                          jsonString(what), ::getpid(), ::gettid(), at.count()));
    } catch (const std::exception&) {
        // Ignores the failure: out of memory, so the trace lacks an event.
    }
}

void Trace::write(std::string_view event) const noexcept {
    // Ignores errors such as a full disk, because a trace is less important than the run.
    [[maybe_unused]] const ssize_t written = ::write(fd_.get(), event.data(), event.size());
}

}  // namespace criu
