// SPDX-License-Identifier: GPL-2.0-only
// Texts of images that become commands, input of programs or names of files. The first byte chooses a check, the rest
// is the text. Runners replace the programs; they parse their input independently, and trap for all that isn't allowed.
#include <getopt.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <regex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/image/text_rules.hpp"
#include "criu/kernel/net/nftables.hpp"
#include "criu/kernel/run_command.hpp"
#include "criu/namespaces/net/program_inputs.hpp"
#include "criu/namespaces/net/saved_routes.hpp"
#include "criu/sockets/network_lock.hpp"
#include "input.hpp"

using criu::fuzz::require;

namespace {

/// Checks nft(8) commands of network locks: each line must match one of these.
void requireLockCommands(const std::string& commands) {
    static const std::regex kLine(
        "table inet (CRIU|criu-dump)-[0-9a-fA-F-]* \\{|flags owner;|(add|delete) table inet "
        "CRIU-[0-9a-fA-F-]*|list tables inet|chain "
        "(in|out)put \\{|"
        "type filter hook (in|out)put priority 0;( policy drop;)?|meta mark 0xc114 accept|\\}");
    for (std::size_t at = 0; at < commands.size();) {
        const std::size_t end = std::min(commands.find('\n', at), commands.size());
        require(std::regex_match(commands.substr(at, end - at), kLine));
        at = end + 1;
    }
}

/// Returns the text outside of quotation marks and comments.
std::string bareText(std::string_view text) {
    std::string bare;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '#') {
            at = text.find('\n', at);
            if (at == std::string_view::npos)
                break;
        } else if (text[at] == '"') {
            at = std::min(text.find('"', at + 1), text.size() - 1);
        }
        bare += text[at];
    }
    return bare;
}

/// Parses a rule like iptables. Traps at an option that doesn't belong to a rule.
void requireHarmlessRule(const std::vector<std::string>& words) {
    // getopt_long(3) reorders its arguments.
    std::vector<std::string> copies(words);
    std::vector<char*> pointers{const_cast<char*>("iptables")};
    for (std::string& word : copies)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    constexpr int kHarmless = 1000;
    constexpr option kLong[] = {{"modprobe", required_argument, nullptr, 'M'},
                                {"table", required_argument, nullptr, 't'},
                                {"comment", required_argument, nullptr, kHarmless},
                                {"log-prefix", required_argument, nullptr, kHarmless},
                                {"nflog-prefix", required_argument, nullptr, kHarmless},
                                {"ulog-prefix", required_argument, nullptr, kHarmless},
                                {"string", required_argument, nullptr, kHarmless},
                                {"hex-string", required_argument, nullptr, kHarmless},
                                {nullptr, 0, nullptr, 0}};
    ::opterr = 0;
    ::optind = 0;
    constexpr const char* kShort = "-:A:C:D:R:I:L::S::M:F::Z::N:X::E:P:Vh::o:p:s:d:j:i:fbvw::W::nt:m:xc:g:46";
    for (int found = 0;
         (found = ::getopt_long(static_cast<int>(pointers.size()) - 1, pointers.data(), kShort, kLong, nullptr)) != -1;)
        require(std::string_view("MtCDRILSFZNXEPVwW").find(static_cast<char>(found)) == std::string_view::npos ||
                found >= kHarmless);
}

/// Splits a line like iptables-restore's parser.
std::vector<std::string> wordsOf(const std::string& line) {
    std::vector<std::string> words;
    std::string word;
    bool quoted = false;
    bool escaped = false;
    bool any = false;
    for (const char c : line) {
        if (quoted) {
            if (escaped) {
                word += c;
                escaped = false;
                continue;
            }
            if (c == '\\') {
                escaped = true;
                continue;
            }
            if (c == '"') {
                quoted = false;
                continue;
            }
        } else if (c == '"') {
            quoted = any = true;
            continue;
        }
        if (!quoted && (c == ' ' || c == '\t')) {
            if (any)
                words.push_back(word);
            word.clear();
            any = false;
            continue;
        }
        word += c;
        any = true;
    }
    if (any)
        words.push_back(word);
    return words;
}

void runId(const std::string& text) {
    if (!criu::isRunId(text))
        return;
    criu::Log log;
    log.setLevel(criu::LogLevel::Message);
    criu::sockets::NetworkLock lock(criu::model::NetworkLock::Nftables, text, log);
    lock.lockNamespace();
    lock.ensureNamespace();
    lock.unlock();
}

void deviceName(const std::string& text) {
    if (!criu::isDeviceName(text))
        return;
    const std::filesystem::path path = "sys/net/ipv4/conf/" + text + "/tag";
    require(path.lexically_normal() == path && std::distance(path.begin(), path.end()) == 6);
    require(text.find_first_of("\n\t \x1b") == std::string::npos && text.size() <= 15);
}

void groupPath(const std::string& text) {
    if (!criu::isGroupPath(text))
        return;
    const std::filesystem::path path = "root" + (text.starts_with('/') ? text : "/" + text);
    const std::filesystem::path plain = path.lexically_normal();
    require(plain == path && *plain.begin() == "root");
    require((text.empty() || text == "/") == (plain == "root/"));
}

void controller(const std::string& text) {
    if (!criu::isController(text, [](std::string_view name) { return name == "cpu"; }))
        return;
    static const std::regex kName("|cpu|name=[A-Za-z0-9_.-]+");
    require(std::regex_match(text, kName));
}

void setting(const std::string& text) {
    if (criu::isSettingValue(text))
        require(text.find_first_not_of("0123456789abcdefABCDEF:.- \t") == std::string::npos);
}

void iptables(const std::string& text) {
    criu::namespaces::requireIptablesRules(text);
    criu::kernel::runProgram("iptables-restore", {}, text);
}

void nftables(const std::string& text) {
    criu::namespaces::requireNftablesRuleset(text);
    const std::string bare = bareText(text);
    static const std::regex kReaches("(^|[^A-Za-z0-9_./-])[0-9]*(include|(un|re)?define)($|[^A-Za-z0-9_./-])");
    require(!std::regex_search(bare, kReaches));
    int depth = 0;
    std::string command;
    for (const char c : bare + '\n') {
        if (c == '{' || c == '}' || c == '\n' || c == ';') {
            command.erase(0, command.find_first_not_of(" \t"));
            require(depth > 0 || command.empty() || command.starts_with("table"));
            command.clear();
        } else {
            command += c;
        }
        depth += c == '{' ? 1 : (c == '}' ? -1 : 0);
        require(depth >= 0);
    }
    require(depth == 0);
}

void savedByIp(const std::string& text) {
    criu::namespaces::requireSavedByIp(text, RTM_NEWROUTE);
    for (std::size_t at = 4; at < text.size();) {
        nlmsghdr header{};
        require(text.size() - at >= sizeof(header));
        std::memcpy(&header, text.data() + at, sizeof(header));
        require(header.nlmsg_type == RTM_NEWROUTE && header.nlmsg_len >= sizeof(header) &&
                header.nlmsg_len <= text.size() - at);
        at += NLMSG_ALIGN(header.nlmsg_len);
    }
    static_cast<void>(criu::namespaces::cleanedRoutes(text));
}

constexpr void (*kTargets[])(const std::string&) = {runId,   deviceName, groupPath, controller,
                                                    setting, iptables,   nftables,  savedByIp};

}  // namespace

namespace criu::kernel {

struct Nftables::Library {};
Nftables::Nftables() = default;
Nftables::~Nftables() = default;
bool Nftables::available() noexcept {
    return true;
}
std::string Nftables::run(const std::string& commands) {
    requireLockCommands(commands);
    return {};
}

std::string findProgram(const std::string& name) {
    return name;
}
std::string runProgram(const std::string& program, std::vector<std::string> /*arguments*/, std::string_view input,
                       StopRequest* /*stop*/) {
    require(program == "iptables-restore");
    for (std::size_t at = 0; at < input.size();) {
        const std::size_t end = std::min(input.find('\n', at), input.size());
        const std::string line(input.substr(at, end - at));
        at = end + 1;
        if (line.empty() || line.front() == '#' || line.front() == '*' || line.front() == ':' || line == "COMMIT")
            continue;
        std::vector<std::string> words = wordsOf(line);
        if (!words.empty() && words.front().starts_with('['))
            words.erase(words.begin());
        requireHarmlessRule(words);
    }
    return {};
}

}  // namespace criu::kernel

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    try {
        kTargets[data[0] % std::size(kTargets)]({reinterpret_cast<const char*>(data + 1), size - 1});
    } catch (const criu::Error&) {
        // The check may refuse its input.
    }
    return 0;
}
