// SPDX-License-Identifier: GPL-2.0-only
#include "criu/cli/arguments.hpp"
#include "criu/base/argument_vector.hpp"
#include "criu/options/similar_name.hpp"

#include <getopt.h>

#include <fmt/ranges.h>

namespace criu::cli {
namespace {

using options::Argument;
using options::NoForm;
using options::OptionRow;
using options::optionTable;
using options::Setting;

// Smallest number by which getopt_long(3) reports a long option, above the numbers of all letters. Each row of the
// option table has two numbers: one for --NAME and one for --no-NAME.
constexpr int kLongBase = 1 << 10;

constexpr int longCode(std::size_t row, bool negated) noexcept {
    return kLongBase + static_cast<int>(row) * 2 + (negated ? 1 : 0);
}

/// The option table in the form of getopt_long(3).
struct Grammar {
    std::vector<std::string> names;
    std::vector<option> longOptions;
    // With a leading colon, getopt_long(3) returns ':' for a missing argument and '?' for an unknown option.
    std::string letters = ":";

    Grammar() {
        const auto table = optionTable();
        names.reserve(table.size() * 2);
        for (std::size_t i = 0; i < table.size(); ++i) {
            const OptionRow& row = table[i];
            const int wants = row.argument == Argument::None       ? no_argument
                              : row.argument == Argument::Required ? required_argument
                                                                   : optional_argument;
            longOptions.push_back({names.emplace_back(row.name).c_str(), wants, nullptr, longCode(i, false)});
            if (row.noForm == NoForm::Present) {
                const std::string& name = names.emplace_back(fmt::format("no-{}", row.name));
                longOptions.push_back({name.c_str(), no_argument, nullptr, longCode(i, true)});
            }
            if (row.letter != 0)
                letters.append(1, row.letter).append(static_cast<std::size_t>(wants), ':');
        }
        longOptions.push_back({nullptr, 0, nullptr, 0});
    }
};

/// Returns the option, and whether it has the form --no-NAME, for a number that getopt_long(3) returned or put into
/// `optopt`.
Setting settingOf(int code) {
    if (code >= kLongBase) {
        const auto index = static_cast<std::size_t>(code - kLongBase);
        return {&optionTable()[index / 2], index % 2 != 0, {}, {}, {}};
    }
    for (const OptionRow& row : optionTable())
        if (row.letter == code)
            return {&row, false, {}, {}, {}};
    fail("unknown option -{}", static_cast<char>(code));
}

/// Returns the name in `word` if it is an abbreviation of a long option; "" otherwise.
std::string abbreviationOf(const Setting& setting, std::string_view word) {
    if (!word.starts_with("--"))
        return {};
    const std::string_view name = word.substr(2, word.find('=') - 2);
    const std::string whole = fmt::format("{}{}", setting.negated ? "no-" : "", setting.row->name);
    return name.size() < whole.size() ? std::string(name) : std::string();
}

/// Throws Error with the reason why getopt_long(3) refused `word`.
[[noreturn]] void refuse(int code, int option, std::string_view word) {
    if (code == ':')
        fail("{} needs an argument", settingOf(option).describe());
    if (option >= kLongBase)
        fail("{} takes no argument", settingOf(option).describe());
    if (option != 0)
        fail("unknown option -{} (criu --help lists all options)", static_cast<char>(option));

    const std::string_view given = word.substr(0, word.find('='));
    std::vector<std::string> meant;
    if (given.size() > 2)
        meant = options::namesBeginningWith(given.substr(2));
    if (meant.empty())
        fail(
            "unknown option {}{} (criu --help lists all options)", given,
            given.starts_with("--") ? options::didYouMean(given.substr(2), options::namesBeginningWith(""), "--") : "");
    fail("option {} is ambiguous, it may mean --{}", given, fmt::join(meant, ", --"));
}

}  // namespace

Arguments readArguments(std::span<const std::string> arguments) {
    const Grammar grammar;
    std::vector<std::string> storage{"criu"};
    storage.insert(storage.end(), arguments.begin(), arguments.end());
    ArgumentVector words(std::move(storage));
    char** const argv = words.data();

    Arguments result;
    const int count = words.count();
    optind = 0;  // makes glibc forget the state of earlier calls
    for (;;) {
        const int code = ::getopt_long(count, argv, grammar.letters.c_str(), grammar.longOptions.data(), nullptr);
        if (code == -1)
            break;
        if (code == '?' || code == ':')
            refuse(code, optopt, argv[static_cast<std::size_t>(optind) - 1]);
        Setting setting = settingOf(code);
        if (optarg != nullptr)
            setting.value = optarg;
        const int valueWords = optarg != nullptr && optarg == argv[optind - 1] ? 1 : 0;
        setting.abbreviated = abbreviationOf(setting, argv[optind - 1 - valueWords]);
        result.settings.push_back(std::move(setting));
    }
    for (int i = optind; i < count; ++i)
        result.words.emplace_back(argv[static_cast<std::size_t>(i)]);
    return result;
}

}  // namespace criu::cli
