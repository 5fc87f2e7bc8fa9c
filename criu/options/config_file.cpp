// SPDX-License-Identifier: GPL-2.0-only
#include "criu/options/config_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/trusted_file.hpp"

namespace criu::options {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";
constexpr std::size_t kFileLimit = 1U << 20;

std::string_view skipBlanks(std::string_view text) noexcept {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    return text;
}

/// Removes a quoted value from the front of `text`, which must begin with the quote, and returns the value.
std::string takeQuoted(std::string_view& text) {
    std::string value;
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (text[i] == '"') {
            text.remove_prefix(i + 1);
            return value;
        }
        if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '"')
            ++i;
        value += text[i];
    }
    fail("the closing quote is missing");
}

/// Removes a word from the front of `text`, and returns it.
std::string takeWord(std::string_view& text) {
    const std::size_t length = std::min(text.find_first_of(" \t\r\v\f#"), text.size());
    std::string value(text.substr(0, length));
    text.remove_prefix(length);
    return value;
}

std::optional<std::string> environment(const char* name) {
    const char* const value = ::secure_getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// Returns the last setting of an option; nullptr if the option isn't set.
const Setting* lastOf(const std::vector<Setting>& settings, std::string_view name) noexcept {
    const Setting* found = nullptr;
    for (const Setting& setting : settings)
        if (setting.row->name == name)
            found = &setting;
    return found;
}

}  // namespace

std::optional<Statement> parseConfigLine(std::string_view line) {
    line = skipBlanks(line);
    if (line.empty() || line.front() == '#')
        return std::nullopt;
    if (line.find('\0') != std::string_view::npos)
        fail("there is a zero byte in the line");

    const std::size_t length = std::min(line.find_first_of(kBlanks), line.size());
    Statement statement{std::string(line.substr(0, length)), {}};
    if (statement.name.front() == '-')
        fail("'{}': options are written without dashes here", statement.name);

    std::string_view rest = skipBlanks(line.substr(length));
    if (rest.empty() || rest.front() == '#')
        return statement;
    statement.value = rest.front() == '"' ? takeQuoted(rest) : takeWord(rest);

    rest = skipBlanks(rest);
    if (!rest.empty() && rest.front() != '#')
        fail("'{}' has more than one value (write NAME VALUE or NAME=VALUE, and put a value with blanks in quotes)",
             statement.name);
    return statement;
}

std::vector<Setting> parseConfigText(std::string_view text, const std::string& file) {
    std::vector<Setting> settings;
    Origin origin{file, 0};
    while (!text.empty()) {
        ++origin.line;
        const std::size_t length = std::min(text.find('\n'), text.size());
        const ErrorContext context([&] { return origin.describe(); });
        const std::optional<Statement> statement = parseConfigLine(text.substr(0, length));
        text.remove_prefix(std::min(length + 1, text.size()));
        if (!statement)
            continue;
        Setting setting = readSetting(statement->name, statement->value, origin);
        if (setting.row->name == "config" || setting.row->name == "no-default-config")
            fail("{}: a configuration file can't choose configuration files", setting.row->name);
        settings.push_back(std::move(setting));
    }
    return settings;
}

std::optional<std::vector<Setting>> readConfigFile(const std::string& file) {
    const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd && (errno == ENOENT || errno == ENOTDIR))
        return std::nullopt;
    sys(fd.get(), "open the configuration file {}", file);
    kernel::requireTrusted(fd.get(), file);

    std::string text;
    char buffer[4096];
    for (;;) {
        const ssize_t count = sys(::read(fd.get(), buffer, sizeof(buffer)), "read the configuration file {}", file);
        if (count == 0)
            return parseConfigText(text, file);
        text.append(buffer, static_cast<std::size_t>(count));
        if (text.size() > kFileLimit)
            fail("the configuration file {} is larger than {} bytes", file, kFileLimit);
    }
}

ConfigSources ConfigSources::fromEnvironment() {
    ConfigSources sources;
    sources.home = environment("HOME");
    sources.named = environment("CRIU_CONFIG_FILE");
    return sources;
}

std::vector<Setting> gatherSettings(std::vector<Setting> arguments, const ConfigSources& sources, Log& log) {
    std::vector<Setting> all;
    const auto add = [&](const std::string& file, bool named, bool required = false) {
        std::optional<std::vector<Setting>> settings;
        try {
            settings = readConfigFile(file);
        } catch (const Error& error) {
            // Ignores a directory without permission, because after su(1) or sudo(8), $HOME may still be that of the
            // other user.
            if (named || (error.code() != EPERM && error.code() != EACCES))
                throw;
            if (error.code() == EPERM)
                log.warn("{}: it isn't used", error.what());
            return;
        }
        if (settings)
            all.insert(all.end(), std::make_move_iterator(settings->begin()), std::make_move_iterator(settings->end()));
        else if (required)
            failWith(ENOENT, "--config: open {}", file);
        else if (named)
            log.warn("there is no configuration file {}", file);
    };

    const Setting* const chosen = lastOf(arguments, "config");
    if (chosen == nullptr && lastOf(arguments, "no-default-config") == nullptr) {
        add(sources.system, false);
        if (sources.home)
            add(*sources.home + "/.criu/default.conf", false);
    }
    if (sources.named)
        add(*sources.named, true);
    if (chosen != nullptr)
        add(*chosen->value, true, true);
    all.insert(all.end(), std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end()));
    return all;
}

}  // namespace criu::options
