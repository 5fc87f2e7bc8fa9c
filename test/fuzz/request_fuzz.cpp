// SPDX-License-Identifier: GPL-2.0-only
// Requests of clients: the message, and the effect of its options on each command. The first byte chooses the command.
#include <cstddef>
#include <cstdint>
#include <span>

#include "criu/base/error.hpp"
#include "criu/image/record.hpp"
#include "criu/options/invocation.hpp"
#include "criu/options/request.hpp"
#include "images/rpc.hpp"
#include "input.hpp"

namespace {

using namespace criu;

void requireUsable(const model::Options& options, bool inherited) {
    for (const model::InheritFd& inherit : options.inheritFds)
        fuzz::require(inherit.fd >= 0 && !inherit.name.empty() && inherited);
    fuzz::require(!options.tree || options.tree->value > 0);
    fuzz::require(!options.restoreSibling || inherited);
    fuzz::require(options.pageServerSocket >= -1);
    fuzz::require(options.logFile.find('/') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    const auto command = static_cast<options::Command>(*data % options::kCommandCount);
    const bool inherited = (*data & 0x80U) != 0;
    try {
        const auto request = decode<CriuReq>(std::as_bytes(std::span(data, size).subspan(1)));
        if (request->opts == nullptr)
            return 0;
        constexpr pid_t kClient = 321;
        options::Invocation invocation;
        invocation.command = command;
        invocation.settings = options::applyRequest({*request->opts, command, kClient, inherited}, invocation.options);
        requireUsable(invocation.options, inherited);
        options::validate(invocation, {});
    } catch (const criu::Error&) {
        // An Error for a malformed or impossible request is correct. Any other exception is a bug.
    }
    return 0;
}
