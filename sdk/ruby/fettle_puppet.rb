#!/usr/bin/env ruby
# frozen_string_literal: true

# Manages resources of a Puppet type, as the program of an external type of Fettle. It is tested with Puppet 7
# of Debian: the packages puppet-agent and, for types of the Resource API, ruby-puppet-resource-api.
#
#     fettle_puppet.rb TYPE    answers requests of Fettle/1 (docs/external-types.md)
#
# Types and providers are found in lib beside this file, in Debian's modules, and in those of /etc/puppet/code. Puppet
# gets a directory for its state that is removed at the end, so it has neither reports nor a filebucket.

require 'json'
require 'tmpdir'
require 'fileutils'

# Everything that a provider prints goes to stderr.
ANSWERS = $stdout.dup
$stdout.reopen($stderr)
$stdout.sync = true
$stderr.sync = true
$VERBOSE = nil # Puppet loads providers of the Resource API more than once

module Fettle
  PROTOCOL = 'Fettle/1'
  MODULES = ['/etc/puppet/code/modules', '/etc/puppetlabs/code/environments/production/modules', '/usr/share/puppet/modules'].freeze

  # Starts Puppet without a configuration of its own. Yields, and removes its state.
  def self.with_puppet
    state = Dir.mktmpdir('fettle-puppet-')
    require 'puppet'
    require 'puppet/util/log'
    require 'puppet/property/list'
    Puppet.initialize_settings(%w[confdir vardir rundir logdir].flat_map { |name| ["--#{name}", File.join(state, name)] } + ['--log_level', 'warning'])
    Puppet[:strict] = :error
    log_to_stderr
    modules = MODULES.select { |dir| File.directory?(dir) }
    environment = Puppet::Node::Environment.create(:fettle, modules)
    ([File.join(__dir__, 'lib')] + environment.modules.map { |m| File.join(m.path, 'lib') }).reverse_each { |dir| $LOAD_PATH.unshift(dir) }
    Puppet.override(current_environment: environment, loaders: Puppet::Pops::Loaders.new(environment)) { yield }
  ensure
    FileUtils.rm_rf(state) if state
  end

  def self.log_to_stderr
    Puppet::Util::Log.newdesttype(:fettle) do
      match(:fettle)
      def handle(message)
        $stderr.puts("#{message.level}: #{message.source}: #{message.message}")
      end
    end
    Puppet::Util::Log.newdestination(:fettle)
  end

  def self.load(name)
    type = Puppet::Type.type(name.to_sym)
    raise "Puppet has no type #{name}: install the module that has it, or use --module" if type.nil?

    type.respond_to?(:type_definition) ? ResourceApi.new(type) : Classic.new(type)
  end

  def self.sensitive_name?(name)
    name.to_s.match?(/passw|passphrase|secret|token|private_?key|credential/i)
  end

  # plain returns a value of Puppet's as JSON has it.
  def self.plain(value)
    case value
    when :true, :false then value == :true # rubocop:disable Lint/BooleanSymbol
    when Symbol then value.to_s
    when Hash then value.to_h { |k, v| [k.to_s, plain(v)] }
    when Array then value.map { |v| plain(v) }
    when nil, true, false, Numeric, String then value
    else value.class.name.end_with?('PSensitiveType::Sensitive') ? plain(value.unwrap) : value.to_s
    end
  end
  private_class_method :log_to_stderr

  # One resource of a request.
  class Resource
    attr_reader :name, :should, :is, :sensitive

    def initialize(request)
      @name = request['name']
      @should = request['should'] || {}
      @is = request['is']
      @sensitive = request['sensitive'] || []
    end

    def absent?
      @should['ensure'] == 'absent'
    end
  end

  # A type of the Resource API. One call of its provider reads, or changes, all resources of a request.
  class ResourceApi
    attr_reader :definition

    def initialize(type)
      @type = type
      @definition = type.type_definition
      @types = @definition.attributes.to_h { |name, options| [name, Puppet::ResourceApi::DataTypeHandling.parse_puppet_type(name, options[:type])] }
      @provider = type.my_provider
      @context = Class.new(Puppet::ResourceApi::PuppetContext) { prepend Outcomes }.new(@definition)
    end

    def self.sensitive?(type)
      type = type.type if type.is_a?(Puppet::Pops::Types::POptionalType)
      type.is_a?(Puppet::Pops::Types::PSensitiveType)
    end

    def get(resources)
      wanted, answers = prepared(resources)
      rows = read(wanted.values.map { |should| title(should) }) unless wanted.empty?
      wanted.each do |name, should|
        answers[name] = Fettle.attempt { state_answer(should, rows.find { |row| title(row) == title(should) }) }
      end
      answers
    end

    def canonicalize(resources)
      wanted, answers = prepared(resources)
      wanted.each do |name, should|
        state = plain(should)
        state['ensure'] = resources.find { |r| r.name == name }.should['ensure'] unless state.key?('ensure')
        answers[name] = { state: state.compact }
      end
      answers
    end

    def list
      read(nil).to_h { |row| [Array(@definition.namevars.map { |n| row[n] }).join('/'), { state: checked(row) }] }
    end

    def set(resources)
      changes, answers = changes_of(resources)
      return answers if changes.empty?

      options = @definition.feature?('supports_noop') ? { noop: false } : {}
      failure = Fettle.attempt { @provider.set(@context, changes.values.to_h { |c| [c[:title], { is: c[:is], should: c[:should] }] }, **options); {} }
      changes.each { |name, c| answers[name] = failure[:error] ? failure : @context.outcome(c[:title]) }
      answers
    end

    private

    # prepared returns the canonical desired attributes by name, and the answers for those that Puppet refuses.
    def prepared(resources)
      wanted = {}
      answers = {}
      resources.each do |r|
        answer = Fettle.attempt { wanted[r.name] = canonical(ruby(r.should)); {} }
        answers[r.name] = answer if answer[:error]
      end
      [wanted, answers]
    end

    def changes_of(resources)
      changes = {}
      answers = {}
      resources.each do |r|
        answer = Fettle.attempt do
          raise 'this type of Puppet cannot remove resources' if r.absent? && !@definition.ensurable?

          should = canonical(ruby(r.should))
          changes[r.name] = { title: title(should), is: r.is ? ruby(r.is) : absent(should), should: should }
          {}
        end
        answers[r.name] = answer if answer[:error]
      end
      [changes, answers]
    end

    # ruby returns attributes as providers get them: values of the data type Sensitive are wrapped, so that Puppet does not log them.
    def ruby(attributes)
      attributes = attributes.slice(*@types.keys.map(&:to_s)).to_h { |k, v| [k.to_sym, v] }
      attributes.each { |name, value| attributes[name] = Puppet::Pops::Types::PSensitiveType::Sensitive.new(value) if self.class.sensitive?(@types[name]) }
      attributes.each { |name, value| Puppet::ResourceApi::DataTypeHandling.validate(@types[name], value, name.to_s) unless name == :ensure }
    end

    def canonical(attributes)
      return attributes unless @definition.feature?('canonicalize')

      @provider.canonicalize(@context, [attributes]).first
    end

    def title(row)
      names = @definition.namevars
      names.size == 1 ? row[names.first] : names.to_h { |n| [n, row[n]] }
    end

    def absent(should)
      names = @definition.namevars.to_h { |n| [n, should[n]] }
      @definition.ensurable? ? names.merge(ensure: 'absent') : names
    end

    # read returns the rows of these titles, or of all resources if there are none.
    def read(titles)
      return @provider.get(@context) unless @definition.feature?('simple_get_filter')

      @provider.get(@context, titles)
    end

    def checked(row)
      @definition.check_schema(row)
      row[:ensure].to_s == 'absent' ? nil : plain(row).slice(*@types.keys.map(&:to_s)).compact
    end

    def plain(row)
      row.to_h { |k, v| [k.to_s, Fettle.plain(v)] }
    end

    def state_answer(should, row)
      state = row && checked(row)
      answer = { state: state }
      verdicts = @definition.feature?('custom_insync') ? custom_insync(should, row || absent(should)) : {}
      answer[:inSync] = verdicts unless verdicts.empty?
      answer
    end

    # custom_insync asks the provider about each property. Fettle compares those about which it does not know.
    def custom_insync(should, is)
      names = @definition.insyncable_attributes & should.keys
      names = [:rsapi_custom_insync_trigger] if @definition.insyncable_attributes.empty?
      names.each_with_object({}) do |name, verdicts|
        same, message = @provider.insync?(@context, title(should), name, is, should)
        next if same.nil?

        key = name == :rsapi_custom_insync_trigger ? 'ensure' : name.to_s
        verdicts[key] = message.to_s.empty? ? same : [same, message.to_s]
      end
    end
  end

  # A context that remembers which resources failed.
  module Outcomes
    def outcome(title)
      @errors ||= {}
      return { error: @errors[title] } if @errors.key?(title)

      @errors.empty? && failed? ? { error: 'the provider reported a failure without naming a resource' } : {}
    end

    def failed(titles, message: 'Updating has failed')
      record(titles, message)
      super
    end

    def log_exception(exception, message: 'Error encountered', trace: false)
      record(@titles, exception.message)
      super
    end

    private

    def setup_context(titles, message = nil)
      @titles = titles
      super
    end

    def record(titles, message)
      @errors ||= {}
      [titles].flatten.each { |title| @errors[title] = message.to_s }
    end
  end

  # A type of newtype. Puppet itself compares and changes its resources.
  class Classic
    def initialize(type)
      @type = type
      ensure_class = type.attrclass(:ensure)
      @ensure_values = ensure_class.respond_to?(:value_collection) ? ensure_class.value_collection.values.map(&:to_s) - ['absent'] : []
    end

    def get(resources)
      rals = {}
      answers = {}
      wanted = resources.to_h { |r| [r.name, r.should] }
      resources.each do |r|
        answer = Fettle.attempt { rals[r.name] = ral(r); {} }
        answers[r.name] = answer if answer[:error]
      end
      failed = prefetch(rals.values)
      rals.each do |name, ral|
        error = failed[ral.provider.class]
        answers[name] = error ? { error: error } : Fettle.attempt { state_answer(ral, wanted[name]) }
      end
      answers
    end

    def list
      Puppet::Resource.indirection.search("#{@type.name}/").to_h do |resource|
        [resource.title, { state: state(resource.to_hash.merge(@type.key_attributes.first => resource.title)) }]
      end.compact
    end

    # list? reports whether a property takes several values. Types do not declare it, but show it by what they make of two.
    def list?(name)
      @lists ||= {}
      @lists.fetch(name) { @lists[name] = @type.attrtype(name) == :property && two_values(name) }
    end

    # set applies a catalog with all resources of the request, as Puppet::Resource.indirection.save does with one.
    def set(resources)
      catalog = Puppet::Resource::Catalog.new('fettle', Puppet.lookup(:current_environment))
      rals = {}
      answers = {}
      resources.each do |r|
        answer = Fettle.attempt { rals[r.name] = catalog.add_resource(ral(r)); {} }
        answers[r.name] = answer if answer[:error]
      end
      statuses = catalog.apply.report.resource_statuses
      rals.each_key { |name| answers[name] = outcome(statuses[catalog.resource(@type.name, name)&.ref]) }
      answers
    end

    def refresh(resources)
      resources.to_h { |r| [r.name, Fettle.attempt { ral(r).refresh; {} }] }
    end

    private

    def two_values(name)
      return true if @type.attrclass(name) <= Puppet::Property::List

      property = @type.attrclass(name).new(resource: @type.allocate)
      property.instance_variable_set(:@should, %w[1 2])
      both = property.should
      both.is_a?(Array) || (both.to_s.include?('1') && both.to_s.include?('2'))
    rescue StandardError
      false
    end

    # ral returns the resource of Puppet's.
    def ral(resource)
      parameters = resource.should.to_h { |k, v| [k.to_sym, v] }
      parameters.delete(:ensure) unless @type.validattr?(:ensure)
      raise 'this type of Puppet cannot remove resources' if resource.absent? && !@type.validattr?(:ensure)

      secret = [parameters, resource.is || {}].flat_map { |attributes| attributes.select { |k, _| resource.sensitive.include?(k.to_s) || Fettle.sensitive_name?(k) }.to_a }
      wanted = Puppet::Resource.new(@type.name, resource.name, parameters: parameters)
      wanted.sensitive_parameters = secret.map(&:first).map(&:to_sym).uniq
      wanted.to_ral
    end

    # prefetch lets each provider read all of its resources at once. It returns the errors by provider.
    def prefetch(rals)
      rals.group_by { |r| r.provider.class }.each_with_object({}) do |(provider, group), failed|
        next unless provider.respond_to?(:prefetch)

        answer = Fettle.attempt { provider.prefetch(group.to_h { |r| [r.name, r] }); {} }
        failed[provider] = answer[:error] if answer[:error]
      end
    end

    def state_answer(ral, wanted)
      current = ral.retrieve_resource.to_hash
      return { state: nil } if gone?(current)

      verdicts = ral.properties.select { |p| wanted.key?(p.name.to_s) }.to_h { |p| [p.name.to_s, p.safe_insync?(current[p.name])] }
      current[:ensure] = ral.should(:ensure) if verdicts['ensure'] # such as a version that is the latest
      names = @type.key_attributes.to_h { |n| [n, ral[n]] }
      { state: state(names.merge(current)), inSync: verdicts }
    end

    def gone?(current)
      current.key?(:ensure) && %w[absent purged].include?(current[:ensure].to_s)
    end

    def state(current)
      return nil if gone?(current)

      values = current.select { |name, value| name == :ensure || (reported?(name) && value != :absent && !value.nil?) }
      values[:ensure] = @ensure_values.first if values.key?(:ensure) && !@ensure_values.include?(values[:ensure].to_s)
      values.to_h { |name, value| [name.to_s, text(listed(name, Fettle.plain(value)))] }
    end

    # listed returns the value of a property that takes several as a list, such as words in a line of /etc/hosts.
    def listed(name, value)
      value.is_a?(String) && list?(name) ? value.split : value
    end

    def reported?(name)
      @type.key_attributes.include?(name) || @type.attrtype(name) == :property
    end

    # text returns numbers as text: classic types do not know the types of values.
    def text(value)
      case value
      when Array then value.map { |v| text(v) }
      when Numeric then value.to_s
      else value
      end
    end

    def outcome(status)
      return { error: 'Puppet did not apply it' } if status.nil?
      return {} unless status.failed || status.failed_to_restart || status.skipped

      failures = status.events.select { |e| e.status == 'failure' }
      messages = failures.map(&:message)
      { error: messages.empty? ? 'Puppet failed or skipped it' : messages.uniq.join('; ') }
    end
  end

  # attempt returns an answer with the message of an exception instead of the exception.
  def self.attempt
    yield
  rescue StandardError, ScriptError => e
    { error: e.message.empty? ? e.class.name : e.message.strip }
  end

  # answers returns the answers to a request by name.
  def self.answers(type, request)
    method = request['request'].to_sym
    resources = (request['resources'] || []).map { |r| Resource.new(r) }
    unless %i[get set list canonicalize refresh].include?(method) && type.respond_to?(method)
      return resources.to_h { |r| [r.name, { error: "unknown request #{method}" }] }
    end

    all = nil
    failure = attempt { all = method == :list ? type.list : type.public_send(method, resources); {} }
    return all if all
    return { '' => failure } if method == :list

    resources.to_h { |r| [r.name, failure] }
  end

  def self.hello(request)
    return if request['request'] == 'hello' && request['protocol'].to_s.split('/').first == PROTOCOL.split('/').first

    raise "expected hello with #{PROTOCOL}"
  end

  def self.write(answer)
    ANSWERS.puts(JSON.generate(answer))
    ANSWERS.flush
  end

  def self.run(name, lines)
    requests = lines.map(&:strip).reject(&:empty?).map { |line| JSON.parse(line) }
    raise 'a request is not an object' unless requests.all?(Hash)
    hello(requests.shift || {})

    with_puppet do
      type = load(name)
      write(answer: 'hello', protocol: PROTOCOL)
      requests.each do |request|
        answers(type, request).each { |resource, answer| write({ answer: request['request'], name: resource }.merge(answer)) }
      end
    end
  end
end

if $PROGRAM_NAME == __FILE__
  begin
    Fettle.run(ARGV.fetch(0), $stdin.each_line)
  rescue StandardError, ScriptError => e
    $stderr.puts("#{e.class}: #{e.message}")
    exit(1)
  end
end
