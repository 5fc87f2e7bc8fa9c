// SPDX-License-Identifier: GPL-2.0-only
#include "criu/cli/settings.hpp"

#include <map>

namespace criu::cli {
namespace {

/// The last setting of each option, in table order; options set back by their no-form are left out.
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

}  // namespace

std::string Origin::describe() const {
    return line == 0 ? file : fmt::format("{}:{}", file, line);
}

std::string Setting::describe() const {
    const std::string place = origin.describe();
    return fmt::format("{}{}{}{}", place, place.empty() ? "--" : ": ", negated ? "no-" : "", row->name);
}

void applySettings(std::span<const Setting> settings, model::Options& options) {
    for (const Setting& setting : settings) {
        Given given{setting.negated, {}};
        if (setting.value)
            given.value = *setting.value;
        inContext([&] { return setting.describe(); }, [&] { setting.row->apply(options, given); });
    }
}

void refuseMissing(std::span<const Setting> settings, Command command) {
    for (const Setting* setting : inEffect(settings))
        if (setting->row->support == Support::Missing && setting->row->commands.contains(command))
            fail("{} is not supported by this build yet", setting->describe());
}

std::vector<const Setting*> withoutEffect(std::span<const Setting> settings, Command command) {
    std::vector<const Setting*> result;
    for (const Setting* setting : inEffect(settings))
        if (setting->origin.line == 0 && !setting->row->commands.contains(command))
            result.push_back(setting);
    return result;
}

}  // namespace criu::cli
