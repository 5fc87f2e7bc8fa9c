// SPDX-License-Identifier: GPL-2.0-only
#include "criu/options/settings.hpp"

#include "criu/options/similar_name.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/ranges.h>

namespace criu::options {
namespace {

/// Returns the last setting of each option, in table order. Omits options whose last setting is a no-form.
std::vector<const Setting*> inEffect(std::span<const Setting> settings) {
    std::map<const OptionRow*, const Setting*> last;
    for (const Setting& setting : settings)
        last[setting.row] = &setting;
    std::vector<const Setting*> result;
    for (const auto& [row, setting] : last)
        if (!setting->negated)
            result.push_back(setting);
    return result;
}

/// Name of an option, with or without "no-".
struct Named {
    const OptionRow* row;
    bool negated;
};

/// Calls `visit` for all names of the option table, in the order of the table.
template <typename Visit>
void forEachName(Visit&& visit) {
    for (const OptionRow& row : optionTable()) {
        visit(std::string(row.name), Named{&row, false});
        if (row.noForm == NoForm::Present)
            visit(fmt::format("no-{}", row.name), Named{&row, true});
    }
}

Named findOption(std::string_view wanted) {
    std::optional<Named> exact;
    std::vector<Named> found;
    forEachName([&](const std::string& name, Named named) {
        if (name == wanted)
            exact = named;
        if (name.starts_with(wanted))
            found.push_back(named);
    });
    if (exact)
        return *exact;
    if (found.empty() || wanted.empty())
        fail("unknown option --{}{}", wanted, didYouMean(wanted, namesBeginningWith(""), "--"));
    if (found.size() > 1)
        fail("option --{} is ambiguous, it may mean --{}", wanted, fmt::join(namesBeginningWith(wanted), ", --"));
    return found.front();
}

}  // namespace

std::vector<std::string> namesBeginningWith(std::string_view prefix) {
    std::vector<std::string> names;
    forEachName([&](const std::string& name, Named) {
        if (name.starts_with(prefix))
            names.push_back(name);
    });
    return names;
}

Setting readSetting(std::string_view name, std::optional<std::string> value, Origin origin) {
    if (const std::size_t equals = name.find('='); equals != std::string_view::npos) {
        const std::string_view attached = name.substr(equals + 1);
        value = value ? fmt::format("{}={}", attached, *value) : std::string(attached);
        name = name.substr(0, equals);
    }
    const auto [row, negated] = findOption(name);
    Setting setting{row, negated, {}, {}};
    if (value && (negated || row->argument == Argument::None))
        fail("{} takes no argument", setting.describe());
    if (!value && !negated && row->argument == Argument::Required)
        fail("{} needs an argument", setting.describe());
    setting.value = std::move(value);
    setting.origin = std::move(origin);
    return setting;
}

std::string Origin::describe() const {
    return line == 0 ? file : fmt::format("{}:{}", file, line);
}

std::string Setting::describe() const {
    const std::string place = origin.describe();
    return fmt::format("{}{}{}{}", place, place.empty() ? "--" : ": ", negated ? "no-" : "", row->name);
}

void applySettings(std::span<const Setting> settings, model::Options& options) {
    for (const Setting& setting : settings) {
        Given given{*setting.row, setting.negated, {}};
        if (setting.value)
            given.value = *setting.value;
        const ErrorContext context([&] { return setting.describe(); });
        setting.row->apply(options, given);
    }
}

void refuseMissing(std::span<const Setting> settings, Command command) {
    for (const Setting* setting : inEffect(settings))
        if (setting->row->support == Support::Missing && setting->row->commands.contains(command))
            fail("{} is not supported by this build yet", setting->describe());
}

void refuseMisplaced(std::span<const Setting> settings, Command command) {
    using enum Command;
    if (command == Swrk || command == Service)
        return;  // the options are for the requests
    constexpr std::array<std::string_view, 13> kDecisive{
        "leave-running", "new-pidns", "map-pages", "background", "stream-to", "inet-map",       "stream-from",
        "sign",          "encrypt",   "gpu-map",   "dry-run",    "no-loss",   "provider-socket"};
    const auto isPair = [](const CommandSet& commands) {
        return commands.contains(Dump) || commands.contains(PreDump) || commands.contains(Restore);
    };
    for (const Setting* setting : withoutEffect(settings, command)) {
        const OptionRow& row = *setting->row;
        const bool ofPair = command == Dump || command == PreDump || command == Restore;
        const bool decisive = std::find(kDecisive.begin(), kDecisive.end(), row.name) != kDecisive.end();
        if (!setting->origin.file.empty() || (ofPair && isPair(row.commands) && !decisive))
            continue;
        std::vector<std::string_view> users;
        for (const CommandRow& each : commandTable())
            if (row.commands.contains(each.command))
                users.push_back(each.name);
        Error error(0, fmt::format("{} is for {}, not for {}", setting->describe(), fmt::join(users, ", "),
                                   commandName(command)));
        if (command == Explain && row.name == "tree")
            error.addHint("criu dump -t PID --dry-run lists what prevents a dump");
        throw error;
    }
}

void requireAllowed(std::span<const Setting> settings, const model::Client& client) {
    if (client.isOwner)
        return;
    for (const Setting& setting : settings)
        if (setting.origin.line == 0 && !setting.row->request.forClients())
            failWith(EPERM, "a client without criu's rights may not give the option {}", setting.describe());
}

std::vector<const Setting*> withoutEffect(std::span<const Setting> settings, Command command) {
    std::vector<const Setting*> result;
    for (const Setting* setting : inEffect(settings))
        if (setting->origin.line == 0 && !setting->row->commands.contains(command))
            result.push_back(setting);
    return result;
}

}  // namespace criu::options
