// SPDX-License-Identifier: GPL-2.0-only
#include "criu/cli/help.hpp"

#include <algorithm>
#include <iterator>

#include "criu/options/option_table.hpp"

namespace criu::cli {
namespace {

using options::Argument;
using options::CommandRow;
using options::NoForm;
using options::OptionRow;
using options::Section;
using options::Support;

constexpr std::size_t kTextColumn = 34;
constexpr std::size_t kWidth = 100;
constexpr char kFieldSeparator = '\x1f';  ///< unit separator of ASCII; help texts don't contain it

/// Returns for example "-D, --images-dir DIR".
std::string heading(const OptionRow& row) {
    std::string text = row.letter != 0 ? fmt::format("  -{}, ", row.letter) : std::string("      ");
    text += "--";
    if (row.noForm == NoForm::Present)
        text += "[no-]";
    text += row.name;
    if (row.argument == Argument::Required)
        fmt::format_to(std::back_inserter(text), " {}", row.placeholder);
    else if (row.argument == Argument::Optional)
        fmt::format_to(std::back_inserter(text), "[={}]", row.placeholder);
    return text;
}

/// Appends `text` in lines of at most kWidth characters. Each line begins at column kTextColumn.
void appendWrapped(std::string& out, std::string_view text) {
    std::size_t column = kTextColumn;
    while (!text.empty()) {
        const std::size_t length = std::min(text.find(' '), text.size());
        if (column + length > kWidth) {
            out.append(1, '\n').append(kTextColumn, ' ');
            column = kTextColumn;
        }
        if (column != kTextColumn)
            out += ' ';
        out += text.substr(0, length);
        column += length + 1;
        text.remove_prefix(std::min(length + 1, text.size()));
    }
    out += '\n';
}

std::string_view remark(Support support) {
    switch (support) {
        case Support::Missing:
            return " (not built yet)";
        case Support::Moot:
            return " (no effect)";
        case Support::Built:
        case Support::Removed:
            break;
    }
    return "";
}

/// Appends an entry of the help: `left` in the left column, and `text` at column kTextColumn.
void appendEntry(std::string& out, std::string_view left, std::string_view text, Support support) {
    out += left;
    if (left.size() + 2 > kTextColumn)
        out.append(1, '\n').append(kTextColumn, ' ');
    else
        out.append(kTextColumn - left.size(), ' ');
    appendWrapped(out, fmt::format("{}{}", text, remark(support)));
}

void appendCommands(std::string& out) {
    out += "usage: criu COMMAND [OPTION]...\n\nCommands:\n";
    for (const CommandRow& row : options::commandTable())
        appendEntry(out, fmt::format("  {}", row.usage), row.help, row.built ? Support::Built : Support::Missing);
    out += '\n';
}

}  // namespace

std::string helpText(std::optional<options::Command> command) {
    std::string out;
    if (command) {
        const CommandRow& row = options::commandRow(*command);
        out = fmt::format("usage: criu {} [OPTION]...\n  {}{}\n\n", row.usage, row.help,
                          row.built ? "" : " (not built yet)");
    } else {
        appendCommands(out);
    }
    std::optional<Section> section;
    for (const OptionRow& row : options::optionTable()) {
        if (row.support == Support::Removed || (command && !row.commands.contains(*command)))
            continue;
        if (section != row.section)
            fmt::format_to(std::back_inserter(out), "{}{}:\n", section ? "\n" : "", options::sectionTitle(row.section));
        section = row.section;
        appendEntry(out, heading(row), row.help, row.support);
    }
    out += "\nOptions may also stand, without dashes, in /etc/criu/default.conf and $HOME/.criu/default.conf.\n";
    return out;
}

std::string optionList(std::optional<options::Command> command) {
    std::string out;
    if (!command) {
        for (const CommandRow& row : options::commandTable())
            fmt::format_to(std::back_inserter(out), "{}\n", row.name);
        return out;
    }
    for (const OptionRow& row : options::optionTable()) {
        if (row.support == Support::Removed || !row.commands.contains(*command))
            continue;
        fmt::format_to(std::back_inserter(out), "{1}{0}{2}{0}{3}{0}{4}{0}{5}{0}{6}\n", kFieldSeparator, row.name,
                       row.letter != 0 ? std::string(1, row.letter) : "", row.noForm == NoForm::Present ? "no" : "",
                       row.argument == Argument::None       ? ""
                       : row.argument == Argument::Required ? "apart"
                                                            : "attached",
                       row.placeholder, row.help);
    }
    return out;
}

}  // namespace criu::cli
