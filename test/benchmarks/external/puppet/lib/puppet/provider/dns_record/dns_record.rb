# frozen_string_literal: true

require 'json'
require 'net/http'
require 'puppet/resource_api/simple_provider'

# Reads the zone in one request.
class Puppet::Provider::DnsRecord::DnsRecord < Puppet::ResourceApi::SimpleProvider
  ZONE = URI('http://127.0.0.1:8081/api/v1/servers/localhost/zones/example.org.')

  def get(_context, names)
    answer = Net::HTTP.start(ZONE.host, ZONE.port) { |http| http.get(ZONE.path, 'X-API-Key' => File.read('/etc/fettle/powerdns.key').strip) }
    sets = JSON.parse(answer.body)['rrsets'].select { |set| set['type'] == 'A' }
    rows = sets.map { |set| { name: set['name'].chomp('.'), values: set['records'].map { |r| r['content'] }, ensure: 'present' } }
    names.nil? || names.empty? ? rows : rows.select { |row| names.include?(row[:name]) }
  end
end
