"""What must survive a crash: tables, repositories, the unit of work, the outbox."""
